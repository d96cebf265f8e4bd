import { LeanSocket } from './lean-socket.ts'

/** Several frames of data at once. */
const READ_BYTES = 256 * 1024
const shared = Buffer.allocUnsafeSlow(READ_BYTES)

/** Connects to a keeper, for a link. */
export function connectLink(path: string): LeanSocket {
  return new LeanSocket(shared).connect(path)
}
