import { HearthError } from '@hearth/contract'
import { RECORD_TYPES, type ChangeRecord, type RecordType } from './change-record.ts'
import { tooManyChanges } from './diff-limits.ts'
import { broken, StreamBytes } from './stream-bytes.ts'

const HEAD_BYTES = 52
const END_BYTES = 16
const CHANGES = [undefined, 'added', 'changed', 'removed'] as const
const LONGEST_PATH = 4095

/** A part of a stream of changes. The bytes of a file follow its record, in chunks that together have its size. */
export type StreamPart =
  | { readonly kind: 'record'; readonly record: ChangeRecord; readonly contentBytes: number }
  | { readonly kind: 'content'; readonly bytes: Uint8Array }

/**
 * Reads a stream of changes as it comes. The stream is hostile: it may be made inside a sandbox, so that every length is checked against
 * a bound, and one that does not end with its own end, or is followed by more, is refused.
 */
export async function* readRecords(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<StreamPart, void> {
  const bytes = new StreamBytes(chunks)
  for (let records = 0n; ; records++) {
    const kind = (await bytes.take(1)).readUInt8()
    if (kind === 0) return await readEnd(bytes, records)
    const head = await bytes.take(HEAD_BYTES - 1)
    const record = await readBody(kind, head, bytes)
    const contentBytes = head.readUInt8(2) === 1 ? record.size : 0
    if (contentBytes > 0 && (record.type !== 'file' || record.change === 'removed')) throw broken('content of no file')
    yield { kind: 'record', record, contentBytes }
    for (let left = contentBytes; left > 0;) {
      const part = await bytes.some(left)
      left -= part.length
      yield { kind: 'content', bytes: part }
    }
  }
}

async function readBody(kind: number, head: Buffer, bytes: StreamBytes): Promise<ChangeRecord> {
  const change = CHANGES[kind]
  const type = typeNumber(head.readUInt8(0))
  const beforeNumber = head.readUInt8(1)
  const before = beforeNumber === 0 ? null : typeNumber(beforeNumber)
  if (change === undefined || type === undefined || before === undefined) throw broken('a kind that does not exist')
  if ((before === null) !== (change === 'added')) throw broken('an old state where there is none')
  const [pathBytes, targetBytes] = [head.readUInt16LE(47), head.readUInt16LE(49)]
  if (pathBytes > LONGEST_PATH || targetBytes > LONGEST_PATH) throw broken('a path that is too long')
  const path = (await bytes.take(pathBytes)).toString('latin1')
  if (!isCleanPath(path)) throw broken('a path that leads elsewhere')
  const target = (await bytes.take(targetBytes)).toString('latin1')
  if (target.includes('\0') || (type === 'symlink') !== (target !== '')) throw broken('a link that points nowhere')
  return {
    change,
    type,
    before,
    mode: head.readUInt32LE(3) & 0o7777,
    uid: head.readUInt32LE(7),
    gid: head.readUInt32LE(11),
    size: sizeOf(head.readBigUInt64LE(15)),
    modifiedNanoseconds: head.readBigInt64LE(23),
    changedNanoseconds: head.readBigInt64LE(31),
    inode: head.readBigUInt64LE(39),
    path,
    target,
  }
}

async function readEnd(bytes: StreamBytes, records: bigint): Promise<void> {
  const head = await bytes.take(END_BYTES - 1)
  const number = head.readUInt32LE(1)
  const what = (await bytes.take(Math.min(head.readUInt16LE(13), LONGEST_PATH))).toString('utf8')
  if (number !== 0) throw failure(number, what)
  if (head.readBigUInt64LE(5) !== records) throw broken('another number of changes than it says')
  if (await bytes.more()) throw broken('more behind its end')
}

const E2BIG = 7
const ENAMETOOLONG = 36
const ELOOP = 40

function failure(number: number, what: string): HearthError {
  const context = { errno: number, path: `/${what}` }
  if (number === E2BIG) return tooManyChanges(context)
  if (number === ELOOP || number === ENAMETOOLONG)
    return new HearthError('file_failed', `/${what.slice(0, 100)}... is nested too deeply to be compared`, { context })
  return new HearthError('file_failed', `the changes at /${what} cannot be read (error ${number})`, { context })
}

function typeNumber(number: number): RecordType | undefined {
  return RECORD_TYPES[number - 1]
}

function sizeOf(size: bigint): number {
  if (size > BigInt(Number.MAX_SAFE_INTEGER)) throw broken('a size that no file has')
  return Number(size)
}

/** Below a root, without a way around. */
export function isCleanPath(path: string): boolean {
  if (path === '' || path.includes('\0')) return false
  return path.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && name.length <= 255)
}
