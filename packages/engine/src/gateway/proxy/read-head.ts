import type { Duplex } from 'node:stream'
import { readable } from '../first-bytes.ts'

/** Of a head, its last line end included. */
export const PROXY_HEAD_BYTES = 16 * 1024
const END = Buffer.from('\r\n\r\n')

/** `huge`: longer than a head may be. `late`: it was not whole in time. `broken`: it ended before. */
export type ReadHead = Buffer | 'huge' | 'late' | 'broken'

/** The bytes of a stream up to and with the first empty line. What follows stays in it. */
export async function readHead(stream: Duplex, patienceMs: number): Promise<ReadHead> {
  const late = Promise.withResolvers<'late'>()
  const deadline = setTimeout(() => late.resolve('late'), patienceMs)
  let seen: Buffer = Buffer.alloc(0)
  try {
    for (;;) {
      const event = await Promise.race([readable(stream), late.promise])
      if (event === 'late') return 'late'
      const chunk = stream.read() as Buffer | null
      if (chunk === null) {
        if (event === 'readable' && !stream.readableEnded && !stream.destroyed) continue
        return 'broken'
      }
      const from = Math.max(0, seen.length - END.length)
      seen = Buffer.concat([seen, chunk])
      const at = seen.indexOf(END, from)
      const length = at < 0 ? seen.length : at + END.length
      if (length > PROXY_HEAD_BYTES) return 'huge'
      if (at < 0) continue
      if (length < seen.length) stream.unshift(seen.subarray(length))
      return seen.subarray(0, length)
    }
  } finally {
    clearTimeout(deadline)
  }
}
