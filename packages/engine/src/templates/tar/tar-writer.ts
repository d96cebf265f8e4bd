import { BLOCK, type TarHeader } from './tar-header.ts'

const FLAGS = { file: '0', hardlink: '1', symlink: '2', device: '3', directory: '5', fifo: '6' } as const

/** The header of one entry, with pax records before it: those that are given, and others where ustar's fields are too small. */
export function tarHeader(header: TarHeader, given: Readonly<Record<string, string | Uint8Array>> = {}): Buffer {
  const long = {
    ...(Buffer.byteLength(header.path) > 100 || !isAscii(header.path) ? { path: header.path } : {}),
    ...(Buffer.byteLength(header.target) > 100 || !isAscii(header.target) ? { linkpath: header.target } : {}),
    ...(header.size >= 8 ** 11 ? { size: String(header.size) } : {}),
    ...(header.uid >= 8 ** 7 ? { uid: String(header.uid) } : {}),
    ...(header.gid >= 8 ** 7 ? { gid: String(header.gid) } : {}),
    ...given,
  }
  const records = Buffer.concat(Object.entries(long).map(([key, value]) => paxRecord(key, value)))
  const own = block(header, FLAGS[header.type])
  if (records.length === 0) return own
  const extension = block({ ...header, path: 'pax-header', target: '', size: records.length, mode: 0o644 }, 'x')
  return Buffer.concat([extension, records, tarPadding(records.length), own])
}

/** Zeros up to the next block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
}

/** Ends an archive. */
export const TAR_END = Buffer.alloc(2 * BLOCK)

function block(header: TarHeader, flag: string): Buffer {
  const bytes = Buffer.alloc(BLOCK)
  bytes.write(header.path, 0, 100)
  octal(bytes, 100, 8, header.mode)
  octal(bytes, 108, 8, header.uid < 8 ** 7 ? header.uid : 0)
  octal(bytes, 116, 8, header.gid < 8 ** 7 ? header.gid : 0)
  octal(bytes, 124, 12, header.size < 8 ** 11 ? header.size : 0)
  octal(bytes, 136, 12, Math.max(0, Math.floor(header.modifiedMs / 1000)))
  bytes.write(flag, 156)
  bytes.write(header.target, 157, 100)
  bytes.write('ustar\u000000', 257, 'latin1')
  bytes.fill(32, 148, 156)
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return bytes
}

function octal(bytes: Buffer, start: number, length: number, value: number): void {
  bytes.write(value.toString(8).padStart(length - 1, '0'), start, length - 1, 'latin1')
}

/** The length counts its own digits. */
function paxRecord(key: string, value: string | Uint8Array): Buffer {
  const content = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')])
  let length = content.length + String(content.length).length
  if (String(length).length !== String(content.length).length) length = content.length + String(length).length
  return Buffer.concat([Buffer.from(String(length)), content])
}

function isAscii(value: string): boolean {
  return /^[\x20-\x7e]*$/.test(value)
}
