import { Socket } from 'node:net'

/** As much as goes into one frame of the link. */
const READ_BYTES = 64 * 1024
/** Of all sockets: what is read is taken before anything else is. */
const shared = Buffer.allocUnsafeSlow(READ_BYTES)

/** Takes bytes that are its own only until it returns; false when it wants no more before `resume`. */
export type Taker = (bytes: Buffer) => boolean

/**
 * A connection to a server. A buffer for each part of what it says would be most of what a host allocates, and collecting them takes more time
 * than reading: so there is none where somebody takes the bytes at once.
 */
export class DialedSocket extends Socket {
  #taker: Taker | null = null

  constructor() {
    super({
      allowHalfOpen: true,
      onread: { buffer: shared, callback: (count: number): boolean => this.#read(shared.subarray(0, count)) },
    })
    this.setNoDelay(true)
  }

  /** From now on, instead of the stream, which must have been read empty. Its end is told as that of the stream. */
  takeBy(taker: Taker): void {
    this.#taker = taker
    this.resume()
  }

  #read(bytes: Buffer): boolean {
    return this.#taker === null ? this.push(Buffer.from(bytes)) : this.#taker(bytes)
  }
}
