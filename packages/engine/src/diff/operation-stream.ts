import { RECORD_TYPES, type ChangeRecord, type RecordType } from './change-record.ts'
import type { PresentState } from './root-state.ts'

/** What must be at a path when a merge is carried out; anything else and nothing is done. */
export type ExpectedState = PresentState | null

export const OPERATION_BYTES = 60
const PLACE = 1
const REMOVE = 2
const COMMIT = 3

/** Types that can be made in another sandbox. A socket means nothing there, and a device is no file. */
const PLACED: ReadonlySet<RecordType> = new Set(['file', 'directory', 'symlink', 'fifo'])

export function canBePlaced(type: RecordType): boolean {
  return PLACED.has(type)
}

/** The new state of a record; its content follows. */
export function placeOperation(record: ChangeRecord, expected: ExpectedState): Buffer {
  return encode(PLACE, record, expected)
}

export function removeOperation(record: ChangeRecord, expected: PresentState): Buffer {
  return encode(REMOVE, record, expected)
}

/** Without it a guest does nothing. */
export function commitOperation(): Buffer {
  const head = Buffer.alloc(OPERATION_BYTES)
  head.writeUInt8(COMMIT, 0)
  return head
}

function encode(kind: number, record: ChangeRecord, expected: ExpectedState): Buffer {
  const path = Buffer.from(record.path, 'latin1')
  const target = Buffer.from(record.target, 'latin1')
  const head = Buffer.alloc(OPERATION_BYTES)
  head.writeUInt8(kind, 0)
  head.writeUInt8(typeNumber(record.type), 1)
  head.writeUInt8(expected === null ? 0 : typeNumber(expected.type), 2)
  head.writeUInt32LE(record.mode, 4)
  head.writeUInt32LE(record.uid, 8)
  head.writeUInt32LE(record.gid, 12)
  head.writeBigUInt64LE(BigInt(record.type === 'file' ? record.size : 0), 16)
  head.writeBigInt64LE(record.modifiedNanoseconds, 24)
  head.writeBigUInt64LE(BigInt(expected?.size ?? 0), 32)
  head.writeBigInt64LE(expected?.modifiedNanoseconds ?? 0n, 40)
  head.writeBigInt64LE(expected?.otherModifiedNanoseconds ?? expected?.modifiedNanoseconds ?? 0n, 48)
  head.writeUInt16LE(path.length, 56)
  head.writeUInt16LE(target.length, 58)
  return Buffer.concat([head, path, target])
}

function typeNumber(type: RecordType): number {
  return RECORD_TYPES.indexOf(type) + 1
}
