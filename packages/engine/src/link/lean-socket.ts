import { Socket } from 'node:net'

/** Takes bytes that are its own only until it returns; false when it wants no more before `resume`. */
export type Taker = (bytes: Buffer) => boolean

/**
 * A socket that makes no buffer for what it reads where somebody takes the bytes at once: one for each read would be most of what a host
 * allocates, and collecting them takes more time than reading.
 */
export class LeanSocket extends Socket {
  #taker: Taker | null = null

  /** It reads into this buffer, as may others: what is read is taken before anything else is. */
  constructor(into: Buffer, { allowHalfOpen = false } = {}) {
    super({
      allowHalfOpen,
      onread: { buffer: into, callback: (count: number): boolean => this.#read(into.subarray(0, count)) },
    })
  }

  /** From now on, instead of the stream; what that still holds comes at once, whatever is wanted. Its end is told as that of the stream. */
  takeBy(taker: Taker): void {
    for (let held = this.read() as Buffer | null; held !== null; held = this.read() as Buffer | null) taker(held)
    this.#taker = taker
    this.resume()
  }

  #read(bytes: Buffer): boolean {
    return this.#taker === null ? this.push(Buffer.from(bytes)) : this.#taker(bytes)
  }
}
