import { RECORD_TYPES, type RecordType } from './change-record.ts'
import { OPERATION_BYTES } from './operation-stream.ts'
import { isCleanPath } from './record-stream.ts'
import { broken, StreamBytes } from './stream-bytes.ts'

/** One operation of a merge, as a machine without a guest takes it. */
export interface Operation {
  readonly kind: 'place' | 'remove'
  /** One character a byte, without a leading slash. */
  readonly path: string
  readonly type: RecordType
  readonly mode: number
  readonly modifiedNanoseconds: bigint
  readonly target: string
  readonly content: Uint8Array
  /** What must be there. */
  readonly expected: { readonly type: RecordType; readonly size: number; readonly modifiedNanoseconds: bigint } | null
}

const KINDS = [undefined, 'place', 'remove', 'commit'] as const

/** All operations up to the commit; a stream without one is refused. `contentBytes` is the most that they may hold together. */
export async function readOperations(chunks: AsyncIterable<Uint8Array>, contentBytes: number): Promise<Operation[]> {
  const bytes = new StreamBytes(chunks)
  const operations: Operation[] = []
  let left = contentBytes
  for (;;) {
    const head = Buffer.from(await bytes.take(OPERATION_BYTES))
    const kind = KINDS[head.readUInt8(0)]
    if (kind === undefined) throw broken('an operation that does not exist')
    if (kind === 'commit') break
    const operation = await readOperation(kind, head, bytes, left)
    left -= operation.content.length
    operations.push(operation)
  }
  if (await bytes.more()) throw broken('more behind its end')
  return operations
}

async function readOperation(
  kind: Operation['kind'],
  head: Buffer,
  bytes: StreamBytes,
  contentBytes: number,
): Promise<Operation> {
  const type = RECORD_TYPES[head.readUInt8(1) - 1]
  const expectedType = RECORD_TYPES[head.readUInt8(2) - 1]
  const size = Number(head.readBigUInt64LE(16))
  const path = (await bytes.take(head.readUInt16LE(56))).toString('latin1')
  const target = (await bytes.take(head.readUInt16LE(58))).toString('latin1')
  if (type === undefined || !isCleanPath(path)) throw broken('an operation on nothing')
  const length = kind === 'place' && type === 'file' ? size : 0
  if (length > contentBytes) throw broken('more content than there is room for')
  return {
    kind,
    path,
    type,
    mode: head.readUInt32LE(4),
    modifiedNanoseconds: head.readBigInt64LE(24),
    target,
    content: Buffer.from(await bytes.take(length)),
    expected:
      expectedType === undefined
        ? null
        : { type: expectedType, size: Number(head.readBigUInt64LE(32)), modifiedNanoseconds: head.readBigInt64LE(40) },
  }
}
