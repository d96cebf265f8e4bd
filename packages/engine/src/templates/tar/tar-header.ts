/** Malformed or truncated archive. */
export class TarError extends Error {
  override name = 'TarError'
}

export type TarEntryType = 'file' | 'directory' | 'symlink' | 'hardlink' | 'device' | 'fifo'

export interface TarHeader {
  readonly path: string
  readonly type: TarEntryType
  /** Of symlinks and hard links. */
  readonly target: string
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly size: number
  readonly modifiedMs: number
  /** Of a device: it is the one that an overlay removes names with. */
  readonly whiteout?: boolean
  /** All pax records of the entry as they are written, when the reader was asked for them. */
  readonly records?: ReadonlyMap<string, Buffer>
}

export const BLOCK = 512

/** One 512-byte header as it is written; extensions are applied by the reader. */
export interface RawHeader extends Omit<TarHeader, 'type' | 'whiteout' | 'records'> {
  readonly flag: string
  /** Major and minor number are both 0. */
  readonly isNull: boolean
}

const TYPES: Readonly<Record<string, TarEntryType>> = {
  '0': 'file',
  '\0': 'file',
  '7': 'file',
  '1': 'hardlink',
  '2': 'symlink',
  '3': 'device',
  '4': 'device',
  '5': 'directory',
  '6': 'fifo',
}

/** Null for a block of zeros, which ends an archive. */
export function parseHeader(block: Buffer): RawHeader | null {
  let sum = 0
  for (let index = 0; index < BLOCK; index++) sum += index >= 148 && index < 156 ? 32 : (block[index] ?? 0)
  if (sum === 8 * 32 && block.every((byte) => byte === 0)) return null
  if (parseNumber(block, 148, 8, 'checksum') !== sum) throw new TarError('a header has a wrong checksum')
  const isUstar = block.toString('latin1', 257, 263) === 'ustar\0'
  const prefix = isUstar ? text(block, 345, 155) : ''
  const name = text(block, 0, 100)
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    flag: block.toString('latin1', 156, 157),
    target: text(block, 157, 100),
    mode: parseNumber(block, 100, 8, 'mode') & 0o7777,
    uid: parseNumber(block, 108, 8, 'uid'),
    gid: parseNumber(block, 116, 8, 'gid'),
    size: parseNumber(block, 124, 12, 'size'),
    modifiedMs: parseNumber(block, 136, 12, 'mtime', true) * 1000,
    isNull: block.subarray(329, 345).every((byte) => byte === 0 || byte === 48 || byte === 32),
  }
}

/** The type of an entry. Archives older than ustar mark a directory by the slash at the end of its name. */
export function entryType(flag: string, path: string): TarEntryType {
  const type = TYPES[flag]
  if (type === undefined) throw new TarError(`entries of type ${JSON.stringify(flag)} are not supported`)
  return type === 'file' && path.endsWith('/') ? 'directory' : type
}

/** Bytes up to the first NUL. Names that are not UTF-8 are taken as Latin-1, so that distinct names stay distinct. */
export function decodeName(bytes: Buffer): string {
  const end = bytes.indexOf(0)
  const used = end === -1 ? bytes : bytes.subarray(0, end)
  const decoded = used.toString('utf8')
  return decoded.includes('�') ? used.toString('latin1') : decoded
}

function text(block: Buffer, start: number, length: number): string {
  return decodeName(block.subarray(start, start + length))
}

/** Octal text, or base 256 when the first bit is set. */
function parseNumber(block: Buffer, start: number, length: number, what: string, signed = false): number {
  const first = block[start] ?? 0
  const value = (first & 0x80) === 0 ? parseOctal(block, start, length, what) : parseBinary(block, start, length)
  if (!Number.isSafeInteger(value) || (value < 0 && !signed)) throw new TarError(`a header has a wrong ${what}`)
  return value
}

function parseOctal(block: Buffer, start: number, length: number, what: string): number {
  const digits = block.toString('latin1', start, start + length).replaceAll(/[\0 ]+$|^[\0 ]+/g, '')
  if (!/^[0-7]*$/.test(digits)) throw new TarError(`a header has a wrong ${what}`)
  return digits === '' ? 0 : Number.parseInt(digits, 8)
}

function parseBinary(block: Buffer, start: number, length: number): number {
  const negative = ((block[start] ?? 0) & 0x40) !== 0
  let value = negative ? -1n : 0n
  for (let index = start; index < start + length; index++) {
    const byte = block[index] ?? 0
    const bits = index === start ? byte & 0x3f : byte
    value = index === start ? (value << 6n) | BigInt(bits) : (value << 8n) | BigInt(bits)
  }
  return Number(value)
}
