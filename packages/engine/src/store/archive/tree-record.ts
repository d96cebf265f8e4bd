import type { ByteReader } from '../../templates/tar/byte-reader.ts'
import { storeError } from '../store-helper.ts'

/** One entry of a tree, as guest/src/keeper/tree-record.h describes it. Names are bytes: a sandbox may use any. */
export interface TreeRecord {
  readonly type: keyof typeof TYPES
  readonly path: Buffer
  /** Of symlinks, and the path of the earlier file for hard links. */
  readonly target: Buffer
  readonly mode: number
  readonly uid: number
  readonly gid: number
  readonly seconds: number
  readonly nanoseconds: number
  readonly size: number
  /** A directory that hides what lies below it in lower layers. */
  readonly opaque: boolean
  readonly attributes: readonly { readonly name: string; readonly value: Buffer }[]
  /** Where a file has bytes; the rest is holes. */
  readonly segments: readonly Segment[]
}

export interface Segment {
  readonly offset: number
  readonly length: number
}

const TYPES = { directory: 'd', file: 'f', symlink: 'l', hardlink: 'h', whiteout: 'w', fifo: 'p' } as const
const END = 'e'
const HEAD_BYTES = 48
export const MAXIMUM_SEGMENTS = 65_536
export const MAXIMUM_ATTRIBUTES_BYTES = 65_536

export function segmentBytes(segments: readonly Segment[]): number {
  return segments.reduce((total, { length }) => total + length, 0)
}

/** All but the bytes of the segments. */
export function encodeRecord(record: TreeRecord): Buffer {
  const attributes = Buffer.concat(
    record.attributes.map(({ name, value }) => {
      const head = Buffer.alloc(4)
      head.writeUInt16LE(Buffer.byteLength(name), 0)
      head.writeUInt16LE(value.length, 2)
      return Buffer.concat([head, Buffer.from(name), value])
    }),
  )
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(TYPES[record.type], 0, 'latin1')
  head.writeUInt8(record.opaque ? 1 : 0, 1)
  head.writeUInt16LE(record.path.length, 2)
  head.writeUInt16LE(record.target.length, 4)
  head.writeUInt32LE(attributes.length, 8)
  head.writeUInt32LE(record.mode, 12)
  head.writeUInt32LE(record.uid, 16)
  head.writeUInt32LE(record.gid, 20)
  head.writeBigInt64LE(BigInt(record.seconds), 24)
  head.writeUInt32LE(record.nanoseconds, 32)
  head.writeUInt32LE(record.segments.length, 36)
  head.writeBigUInt64LE(BigInt(record.size), 40)
  const segments = Buffer.alloc(16 * record.segments.length)
  record.segments.forEach(({ offset, length }, index) => {
    segments.writeBigUInt64LE(BigInt(offset), 16 * index)
    segments.writeBigUInt64LE(BigInt(length), 16 * index + 8)
  })
  return Buffer.concat([head, record.path, record.target, attributes, segments])
}

/** Ends a stream of records. */
export function encodeEnd(): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head.write(END, 0, 'latin1')
  return head
}

/** Null at the end of the tree. The bytes of the segments follow, and are the caller's to read. */
export async function readRecord(reader: ByteReader): Promise<TreeRecord | null> {
  const head = await take(reader, HEAD_BYTES)
  const code = head.toString('latin1', 0, 1)
  const type = (Object.keys(TYPES) as TreeRecord['type'][]).find((name) => TYPES[name] === code)
  const count = head.readUInt32LE(36)
  if (type === undefined && code === END) return null
  if (type === undefined || count > MAXIMUM_SEGMENTS || head.readUInt32LE(8) > MAXIMUM_ATTRIBUTES_BYTES) throw broken()
  const path = await take(reader, head.readUInt16LE(2))
  const target = await take(reader, head.readUInt16LE(4))
  const attributes = decodeAttributes(await take(reader, head.readUInt32LE(8)))
  const bytes = await take(reader, 16 * count)
  const segments = Array.from({ length: count }, (_, index) => ({
    offset: Number(bytes.readBigUInt64LE(16 * index)),
    length: Number(bytes.readBigUInt64LE(16 * index + 8)),
  }))
  return {
    type,
    path,
    target,
    mode: head.readUInt32LE(12),
    uid: head.readUInt32LE(16),
    gid: head.readUInt32LE(20),
    seconds: Number(head.readBigInt64LE(24)),
    nanoseconds: head.readUInt32LE(32),
    size: Number(head.readBigUInt64LE(40)),
    opaque: (head.readUInt8(1) & 1) !== 0,
    attributes,
    segments,
  }
}

function decodeAttributes(bytes: Buffer): TreeRecord['attributes'] {
  const attributes: { name: string; value: Buffer }[] = []
  for (let at = 0; at + 4 <= bytes.length;) {
    const named = at + 4 + bytes.readUInt16LE(at)
    const end = named + bytes.readUInt16LE(at + 2)
    attributes.push({ name: bytes.toString('utf8', at + 4, named), value: bytes.subarray(named, end) })
    at = end
  }
  return attributes
}

/** A copy, since the reader may use its buffer again. */
async function take(reader: ByteReader, count: number): Promise<Buffer> {
  if (count === 0) return Buffer.alloc(0)
  const bytes = await reader.exactly(count)
  if (bytes === null) throw broken()
  return Buffer.from(bytes)
}

function broken(): Error {
  return storeError(0, 'the records of a tree are broken')
}
