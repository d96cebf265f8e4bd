import { encodeFrame } from './encode-frame.ts'

/** What the time is now, for a kernel that stood still with its machine and did not notice. */
export function clockFrame(): Uint8Array {
  return encodeFrame('Clock', { realtimeNanoseconds: BigInt(Date.now()) * 1_000_000n }, 0)
}
