import { ByteReader } from './byte-reader.ts'
import { BLOCK, decodeName, entryType, parseHeader, type RawHeader, TarError, type TarHeader } from './tar-header.ts'

export interface TarLimits {
  readonly entries: number
  /** Content of all entries together. */
  readonly totalBytes: number
  readonly pathBytes: number
}

/** Longest extension record: a path, a link and times fit many times over. */
const MAXIMUM_EXTENSION_BYTES = 1024 * 1024
const CHUNK = 256 * 1024

export interface TarEntry {
  readonly header: TarHeader
  /** The content. It must be read before the next entry is asked for; what is left is skipped. */
  body(): AsyncGenerator<Buffer, void>
  /** The whole content at once, when it lies in the chunk at hand or is small. */
  bytes(): Promise<Buffer>
}

interface Extensions {
  path?: string
  target?: string
  size?: number
  uid?: number
  gid?: number
  modifiedMs?: number
  records?: Map<string, Buffer>
}

export interface TarReadOptions {
  /** Keep the pax records of each entry, also of kinds that are refused otherwise, for a caller that knows them. */
  readonly records?: boolean
}

/** Entries of a ustar, pax or GNU archive, one after the other. Every field is checked; nothing is written anywhere. */
export async function* readTar(
  source: AsyncIterable<Uint8Array>,
  limits: TarLimits,
  options: TarReadOptions = {},
): AsyncGenerator<TarEntry, void> {
  const keep = options.records === true
  const reader = new ByteReader(source)
  try {
    const globals: Extensions = {}
    let extensions: Extensions = {}
    let count = 0
    let total = 0
    for (;;) {
      const block = await reader.exactly(BLOCK)
      const raw = block === null ? null : parseHeader(block)
      if (raw === null) break
      // Extension records count too: they cost time like any other entry.
      if (++count > limits.entries) throw new TarError(`the archive has more than ${limits.entries} entries`)
      if (isExtension(raw.flag)) {
        const content = await readExtension(reader, raw)
        if (raw.flag === 'g') Object.assign(globals, parsePax(content, keep))
        else Object.assign(extensions, raw.flag === 'x' ? parsePax(content, keep) : parseGnu(raw.flag, content))
        continue
      }
      const header = toHeader(raw, { ...globals, ...extensions }, limits)
      extensions = {}
      total += header.size
      if (total > limits.totalBytes) throw new TarError(`the archive holds more than ${limits.totalBytes} bytes`)
      const entry = new Entry(reader, header)
      yield entry
      await entry.finish()
    }
    await reader.drain()
  } finally {
    await reader.close()
  }
}

class Entry implements TarEntry {
  readonly header: TarHeader
  readonly #reader: ByteReader
  #left: number

  constructor(reader: ByteReader, header: TarHeader) {
    this.#reader = reader
    this.header = header
    this.#left = header.size
  }

  async *body(): AsyncGenerator<Buffer, void> {
    while (this.#left > 0) yield await this.#next()
  }

  async bytes(): Promise<Buffer> {
    const first = this.#left === 0 ? Buffer.alloc(0) : await this.#next()
    if (this.#left === 0) return first
    const parts = [Buffer.from(first)]
    while (this.#left > 0) parts.push(Buffer.from(await this.#next()))
    return Buffer.concat(parts)
  }

  async finish(): Promise<void> {
    await this.#reader.skip(this.#left + padding(this.header.size))
    this.#left = 0
  }

  async #next(): Promise<Buffer> {
    const chunk = await this.#reader.some(Math.min(this.#left, CHUNK))
    if (chunk === null) throw new TarError('the archive is truncated')
    this.#left -= chunk.length
    return chunk
  }
}

function isExtension(flag: string): boolean {
  return flag === 'x' || flag === 'g' || flag === 'L' || flag === 'K'
}

async function readExtension(reader: ByteReader, raw: RawHeader): Promise<Buffer> {
  if (raw.size > MAXIMUM_EXTENSION_BYTES) throw new TarError('an extension record is too large')
  const content = raw.size === 0 ? Buffer.alloc(0) : await reader.exactly(raw.size)
  if (content === null) throw new TarError('the archive is truncated')
  // A copy, because the source may reuse its buffer for the padding that follows.
  const copy = Buffer.from(content)
  await reader.skip(padding(raw.size))
  return copy
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

function parseGnu(flag: string, content: Buffer): Extensions {
  return flag === 'L' ? { path: decodeName(content) } : { target: decodeName(content) }
}

/** Records of the form `LENGTH KEY=VALUE\n`, where LENGTH counts the whole record. */
function parsePax(content: Buffer, keep: boolean): Extensions {
  const extensions: Extensions = keep ? { records: new Map() } : {}
  for (let start = 0; start < content.length;) {
    const space = content.indexOf(32, start)
    const digits = space === -1 ? '' : content.toString('latin1', start, space)
    const length = /^[1-9]\d{0,7}$/.test(digits) ? Number(digits) : 0
    const equals = content.indexOf(61, space)
    const end = start + length
    if (length === 0 || end > content.length || equals === -1 || equals >= end || content[end - 1] !== 10) {
      throw new TarError('an extension record is malformed')
    }
    applyPax(extensions, content.toString('latin1', space + 1, equals), content.subarray(equals + 1, end - 1))
    start = end
  }
  return extensions
}

function applyPax(extensions: Extensions, key: string, value: Buffer): void {
  extensions.records?.set(key, value)
  if (key.startsWith('GNU.sparse.') && extensions.records === undefined)
    throw new TarError('sparse entries are not supported')
  if (key === 'path') extensions.path = paxName(value)
  if (key === 'linkpath') extensions.target = paxName(value)
  if (key === 'size') extensions.size = paxInteger(value)
  if (key === 'uid') extensions.uid = paxInteger(value)
  if (key === 'gid') extensions.gid = paxInteger(value)
  if (key === 'mtime') {
    const seconds = Number(value.toString('latin1'))
    if (!Number.isFinite(seconds)) throw new TarError('an extension record has a wrong time')
    extensions.modifiedMs = seconds * 1000
  }
}

function paxName(value: Buffer): string {
  if (value.includes(0)) throw new TarError('a name holds a NUL')
  return decodeName(value)
}

function paxInteger(value: Buffer): number {
  const digits = value.toString('latin1')
  const number = /^\d{1,16}$/.test(digits) ? Number(digits) : Number.NaN
  if (!Number.isSafeInteger(number)) throw new TarError('an extension record has a wrong number')
  return number
}

function toHeader(raw: RawHeader, extensions: Extensions, limits: TarLimits): TarHeader {
  const { flag, isNull, ...plain } = raw
  const path = extensions.path ?? plain.path
  const type = entryType(flag, path)
  const header = { ...plain, ...extensions, type }
  if (path === '') throw new TarError('an entry has no name')
  if (Buffer.byteLength(path) > limits.pathBytes || Buffer.byteLength(header.target) > limits.pathBytes) {
    throw new TarError('a name is too long')
  }
  // Links and directories have no content, whatever their size field says.
  if (type === 'file') return header
  return { ...header, size: 0, ...(type === 'device' ? { whiteout: flag === '3' && isNull } : {}) }
}
