import { createHash } from 'node:crypto'
import { mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { TarEntry } from '../../templates/tar/tar-reader.ts'
import { snapshotManifestSchema, type SnapshotManifest } from '../snapshot-manifest.ts'
import {
  type ArchiveLimits,
  CHECKSUMS_ENTRY,
  corrupt,
  DISK_PREFIX,
  FORMAT,
  MANIFEST_ENTRY,
  MEMORY_PREFIX,
  VERSION,
} from './archive-format.ts'
import { ChecksumChain, checksumsSchema, sumOf, sumUp, type Checksums } from './checksum-chain.ts'
import { readEntry, type ReadEntry } from './read-entry.ts'
import { TreeWriter } from './tree-process.ts'
import { segmentBytes, type TreeRecord } from './tree-record.ts'

const headSchema = z.object({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  manifest: snapshotManifestSchema,
})

/** The parts of an archive in the order in which they come. */
const ORDER = ['manifest', 'disk', 'memory', 'checksums'] as const
type Part = (typeof ORDER)[number]

/** Takes the entries of an archive one after the other and makes the snapshot's files of them. */
export class ArchiveReader implements AsyncDisposable {
  readonly #directory: string
  readonly #limits: ArchiveLimits
  readonly #tree: TreeWriter
  readonly #chain = new ChecksumChain()
  readonly #memory: Record<string, string> = {}
  readonly #takesMemory: boolean
  #diskBytes = 0
  #memoryBytes = 0
  #part: Part | null = null
  #entries = 0
  #head: { readonly manifest: SnapshotManifest; readonly sum: string } | null = null
  #checksums: Checksums | null = null

  /** Without `memory` that is checked and left out. */
  constructor(guest: string, directory: string, disk: string, limits: ArchiveLimits, memory: boolean) {
    this.#takesMemory = memory
    this.#directory = directory
    this.#limits = limits
    this.#tree = new TreeWriter(guest, disk)
  }

  async take(entry: TarEntry): Promise<void> {
    if (++this.#entries > this.#limits.entries) throw corrupt(`it has more than ${this.#limits.entries} entries`)
    const part = this.#advance(entry)
    if (part === 'manifest') await this.#takeManifest(entry)
    else if (part === 'disk') await this.#takeDisk(await readEntry(entry, DISK_PREFIX, this.#limits))
    else if (part === 'memory') await this.#takeMemory(await readEntry(entry, MEMORY_PREFIX, this.#limits))
    else this.#checksums = parse(checksumsSchema, await this.#text(entry), 'its checksums')
  }

  /** When all has come: as its manifest says, but with the sizes that were really taken in. */
  async finish(): Promise<SnapshotManifest> {
    if (this.#head === null || this.#checksums === null) throw corrupt('it is truncated')
    const { manifest, sum } = this.#head
    await this.#tree.finish()
    const actual = sumUp({ manifest: sum, disk: this.#chain.digest(), memory: this.#memory })
    for (const part of ['manifest', 'disk', 'whole'] as const) {
      if (actual[part] !== this.#checksums[part]) throw corrupt(`the checksum of ${part} is wrong`, { part })
    }
    const hasMemory = Object.keys(this.#memory).length > 0
    if (hasMemory !== (manifest.memory !== null)) throw corrupt('its manifest is about other memory than it holds')
    const info = { ...manifest.info, diskBytes: this.#diskBytes, memoryBytes: this.#memoryBytes }
    if (hasMemory && this.#takesMemory) return { ...manifest, info: { ...info, memory: true } }
    return { ...manifest, info: { ...info, memory: false }, memory: null, interpreters: [] }
  }

  /** Which part an entry belongs to. Parts come in their order, those of one entry once. */
  #advance({ header }: TarEntry): Part {
    const path = header.records?.get('GNU.sparse.name')?.toString('latin1') ?? header.path
    const part = partOf(path)
    const before = this.#part === null ? -1 : ORDER.indexOf(this.#part)
    const now = part === null ? -1 : ORDER.indexOf(part)
    const single = part === 'manifest' || part === 'checksums'
    if (part === null || now < before || (single && now === before))
      throw corrupt('it holds what does not belong there')
    if (before === -1 && part !== 'manifest') throw corrupt('it was not made by Hearth')
    this.#part = part
    return part
  }

  async #takeManifest(entry: TarEntry): Promise<void> {
    const text = await this.#text(entry)
    const { manifest } = parse(headSchema, text, 'its manifest')
    this.#head = { manifest, sum: sumOf(text) }
  }

  /** SAFETY: at the top are files, and the one directory that becomes the upper layer of an overlay: a link in its place would be followed by the mount. */
  async #takeDisk({ record, bytes }: ReadEntry): Promise<void> {
    const path = record.path.toString('latin1')
    const top = !path.includes('/')
    const allowed =
      path === 'upper' ? record.type === 'directory' : record.type === 'file' && /^[a-z0-9.-]+$/.test(path)
    if (top && !allowed) throw corrupt(`${JSON.stringify(path.slice(0, 60))} does not belong into a disk`)
    this.#diskBytes += segmentBytes(record.segments)
    const sum = await summing(bytes, (summed) => this.#tree.write(withoutPrivileges(record), summed))
    this.#chain.add(record, sum)
  }

  async #takeMemory({ record, bytes }: ReadEntry): Promise<void> {
    const name = record.path.toString('latin1')
    const count = Object.keys(this.#memory).length
    if (record.type !== 'file' || !/^[a-z0-9][a-z0-9._-]{0,63}$/.test(name) || count >= this.#limits.memoryFiles) {
      throw corrupt(`${JSON.stringify(name.slice(0, 60))} does not belong into a memory`)
    }
    if (!this.#takesMemory) {
      if (name in this.#memory) throw corrupt('a part of the memory comes twice')
      this.#memory[name] = await summing(bytes, drain)
      return
    }
    this.#memoryBytes += segmentBytes(record.segments)
    await mkdir(join(this.#directory, 'memory'), { recursive: true, mode: 0o700 })
    // SAFETY: a new file of our own directory; a second one of the same name is refused.
    const file = await open(join(this.#directory, 'memory', name), 'wx', 0o600).catch(
      (cause: NodeJS.ErrnoException) => {
        throw cause.code === 'EEXIST' ? corrupt('a part of the memory comes twice') : cause
      },
    )
    try {
      // As it was captured: QEMU's own user opens it, through a descriptor, and the directory is nobody's but ours.
      await file.chmod(0o444)
      this.#memory[name] = await summing(bytes, async (summed) => {
        const place = placer(record)
        for await (const part of summed)
          for (const [chunk, at] of place(part)) await file.write(chunk, 0, chunk.length, at)
      })
      await file.truncate(record.size)
    } finally {
      await file.close()
    }
  }

  async #text(entry: TarEntry): Promise<string> {
    if (entry.header.type !== 'file' || entry.header.size > this.#limits.manifestBytes)
      throw corrupt('its manifest is too large')
    return (await entry.bytes()).toString('utf8')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tree[Symbol.asyncDispose]()
  }
}

function partOf(path: string): Part | null {
  if (path === MANIFEST_ENTRY) return 'manifest'
  if (path === CHECKSUMS_ENTRY) return 'checksums'
  if (path.startsWith(DISK_PREFIX)) return 'disk'
  return path.startsWith(MEMORY_PREFIX) ? 'memory' : null
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string, what: string): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw corrupt(`${what} cannot be read by this version`, {}, cause)
  }
}

/** No program gains privileges in a sandbox; on the host a setuid file of somebody else's making must not lie around. */
function withoutPrivileges(record: TreeRecord): TreeRecord {
  return { ...record, mode: record.mode & (record.type === 'directory' ? 0o3777 : 0o1777) }
}

async function summing(
  bytes: AsyncIterable<Buffer>,
  use: (bytes: AsyncIterable<Buffer>) => Promise<void>,
): Promise<string> {
  const hash = createHash('sha256')
  const through = async function* (): AsyncGenerator<Buffer, void> {
    for await (const part of bytes) {
      hash.update(part)
      yield part
    }
  }
  await use(through())
  return hash.digest('hex')
}

async function drain(bytes: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of bytes);
}

/** Says where the bytes of a file's segments go, as they come. */
function placer({ segments }: TreeRecord): (part: Buffer) => [Buffer, number][] {
  let index = 0
  let done = 0
  return (part) => {
    const places: [Buffer, number][] = []
    for (let used = 0; used < part.length;) {
      const segment = segments[index]
      if (segment === undefined) throw corrupt('a file is longer than it says')
      const chunk = part.subarray(used, used + segment.length - done)
      places.push([chunk, segment.offset + done])
      used += chunk.length
      done += chunk.length
      if (done === segment.length) {
        index++
        done = 0
      }
    }
    return places
  }
}
