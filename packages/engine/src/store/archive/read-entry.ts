import type { TarHeader } from '../../templates/tar/tar-header.ts'
import { ByteReader } from '../../templates/tar/byte-reader.ts'
import type { TarEntry } from '../../templates/tar/tar-reader.ts'
import { type ArchiveLimits, corrupt, MAXIMUM_ID, NAME_BYTES, PATH_BYTES } from './archive-format.ts'
import {
  MAXIMUM_ATTRIBUTES_BYTES,
  MAXIMUM_SEGMENTS,
  segmentBytes,
  type Segment,
  type TreeRecord,
} from './tree-record.ts'

const BLOCK = 512

/** An entry of an archive that has passed all checks, and the bytes of its segments. */
export interface ReadEntry {
  readonly record: TreeRecord
  readonly bytes: AsyncIterable<Buffer>
}

/** SAFETY: everything here was written by anybody. What comes out has a path that stays below its prefix, a known type, ids of a sandbox, and sizes within the limits. */
export async function readEntry(entry: TarEntry, prefix: string, limits: ArchiveLimits): Promise<ReadEntry> {
  const { header } = entry
  const records = header.records ?? new Map<string, Buffer>()
  const type = typeOf(header)
  const path = below(prefix, records.get('HEARTH.path') ?? records.get('GNU.sparse.name') ?? Buffer.from(header.path))
  const reader = new ByteReader(entry.body())
  const sparse = records.has('GNU.sparse.major') ? await readSparse(header, records, reader) : null
  const size = sparse?.size ?? header.size
  const segments = sparse?.segments ?? (size === 0 ? [] : [{ offset: 0, length: size }])
  if (size > limits.fileBytes) throw corrupt(`a file is larger than ${limits.fileBytes} bytes`)
  if (header.uid > MAXIMUM_ID || header.gid > MAXIMUM_ID) throw corrupt('a file has an owner that no sandbox has')
  const target = records.get('HEARTH.target') ?? Buffer.from(header.target)
  if (target.length > PATH_BYTES || target.includes(0)) throw corrupt('a link has a target that is none')
  if (type === 'symlink' && target.length === 0) throw corrupt('a link has no target')
  return {
    record: {
      type,
      path,
      target: type === 'hardlink' ? below(prefix, target) : type === 'symlink' ? target : Buffer.alloc(0),
      mode: header.mode,
      uid: header.uid,
      gid: header.gid,
      ...timeOf(records.get('mtime')),
      size,
      opaque: type === 'directory' && records.get('HEARTH.opaque')?.toString() === 'y',
      attributes: attributesOf(records),
      segments,
    },
    bytes: rest(reader, segmentBytes(segments)),
  }
}

function typeOf({ type, whiteout }: TarHeader): TreeRecord['type'] {
  if (type !== 'device') return type
  if (whiteout !== true) throw corrupt('it holds a device')
  return 'whiteout'
}

/** The path without its prefix. It names something below it, and nothing above. */
function below(prefix: string, path: Buffer): Buffer {
  const text = path.toString('latin1')
  const parts = text.slice(prefix.length).split('/')
  const wrong = parts.some((part) => part === '' || part === '.' || part === '..' || part.length > NAME_BYTES)
  if (!text.startsWith(prefix) || wrong || path.length > PATH_BYTES || path.includes(0)) {
    throw corrupt(`${JSON.stringify(text.slice(0, 100))} is not a path in it`)
  }
  return path.subarray(prefix.length)
}

function attributesOf(records: ReadonlyMap<string, Buffer>): TreeRecord['attributes'] {
  const attributes = [...records]
    .filter(([key]) => key.startsWith('SCHILY.xattr.'))
    .map(([key, value]) => ({ name: key.slice('SCHILY.xattr.'.length), value }))
  let total = 0
  for (const { name, value } of attributes) {
    total += 4 + name.length + value.length
    const known = /^user\.[\x21-\x7e]{1,250}$/.test(name) && !name.startsWith('user.overlay.')
    if (!known) throw corrupt(`a file has the extended attribute ${JSON.stringify(name.slice(0, 60))}`)
    if (value.length > 65_535) throw corrupt('an extended attribute is too long')
  }
  if (total > MAXIMUM_ATTRIBUTES_BYTES) throw corrupt('a file has too many extended attributes')
  return attributes
}

function timeOf(text: Buffer | undefined): { seconds: number; nanoseconds: number } {
  const [, seconds, fraction] = /^(-?\d{1,12})(?:\.(\d{1,9}))?$/.exec(text?.toString('latin1') ?? '0') ?? []
  if (seconds === undefined) throw corrupt('a file has a time that is none')
  return { seconds: Number(seconds), nanoseconds: Number((fraction ?? '').padEnd(9, '0')) }
}

async function readSparse(
  header: TarHeader,
  records: ReadonlyMap<string, Buffer>,
  reader: ByteReader,
): Promise<{ size: number; segments: Segment[] }> {
  const text = (key: string): string => records.get(key)?.toString('latin1') ?? ''
  const size = decimal(text('GNU.sparse.realsize'))
  if (header.type !== 'file' || text('GNU.sparse.major') !== '1' || text('GNU.sparse.minor') !== '0' || size === null) {
    throw corrupt('it holds a sparse file of an unknown kind')
  }
  const map = new SparseMap(reader)
  const count = await map.next()
  if (count > MAXIMUM_SEGMENTS) throw corrupt('a sparse file has too many parts')
  const segments: Segment[] = []
  let end = 0
  for (let index = 0; index < count; index++) {
    const segment = { offset: await map.next(), length: await map.next() }
    if (segment.offset < end || segment.offset + segment.length > size) throw corrupt('a sparse file overlaps itself')
    end = segment.offset + segment.length
    segments.push(segment)
  }
  if (map.bytes + segmentBytes(segments) !== header.size) throw corrupt('a sparse file has another size than it says')
  return { size, segments }
}

/** Numbers as lines in whole blocks. */
class SparseMap {
  readonly #reader: ByteReader
  #text = ''
  bytes = 0

  constructor(reader: ByteReader) {
    this.#reader = reader
  }

  async next(): Promise<number> {
    while (!this.#text.includes('\n')) {
      const block = this.#text.length > 32 ? null : await this.#reader.exactly(BLOCK)
      if (block === null) throw corrupt('the map of a sparse file is broken')
      this.#text += block.toString('latin1')
      this.bytes += BLOCK
    }
    const line = this.#text.indexOf('\n')
    const number = decimal(this.#text.slice(0, line))
    if (number === null) throw corrupt('the map of a sparse file is broken')
    this.#text = this.#text.slice(line + 1)
    return number
  }
}

function decimal(text: string): number | null {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(number) ? number : null
}

async function* rest(reader: ByteReader, count: number): AsyncGenerator<Buffer, void> {
  for (let left = count; left > 0;) {
    const part = await reader.some(left)
    if (part === null) throw corrupt('it is truncated')
    left -= part.length
    yield part
  }
}
