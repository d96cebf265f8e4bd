import { HearthError } from '@hearth/contract'

const HEADER_BYTES = 5

/** Flags of a frame. */
export const FRAME = { compressed: 1, end: 2 } as const

export function frame(flags: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER_BYTES + payload.length)
  bytes[0] = flags
  bytes.writeUInt32BE(payload.length, 1)
  bytes.set(payload, HEADER_BYTES)
  return bytes
}

/** The messages of a request stream, as they come. A body that ends within a frame, or a frame that is too large, is refused. */
export async function* readFrames(body: AsyncIterable<Buffer>, maximumBytes: number): AsyncGenerator<Buffer, void> {
  let held: Buffer = Buffer.alloc(0)
  for await (const piece of body) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece])
    for (;;) {
      if (held.length < HEADER_BYTES) break
      const flags = held[0] ?? 0
      const length = held.readUInt32BE(1)
      if (length > maximumBytes) {
        throw new HearthError('body_too_large', `a frame is larger than ${maximumBytes} bytes`)
      }
      if ((flags & ~FRAME.end) !== 0) {
        throw new HearthError('capability_unsupported', 'compressed or unknown frames are not supported')
      }
      if (held.length < HEADER_BYTES + length) break
      const payload = held.subarray(HEADER_BYTES, HEADER_BYTES + length)
      held = held.subarray(HEADER_BYTES + length)
      if ((flags & FRAME.end) !== 0) return
      yield payload
    }
  }
  if (held.length > 0) throw new HearthError('invalid_request', 'the body ends within a frame')
}
