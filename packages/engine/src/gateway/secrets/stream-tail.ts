import type { Unfinished } from './form-matcher.ts'

/** What of a stream must be seen again together with what follows: bytes that wait, and some before them that have passed. */
export class StreamTail {
  #bytes: Buffer = Buffer.alloc(0)
  #passed = 0

  before(chunk: Buffer): Buffer {
    return this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
  }

  /** Of what `before` gave back, or of a copy of the same length: what goes on now. */
  passes(bytes: Buffer, { held, needed }: Unfinished): Buffer {
    const end = Math.max(this.#passed, bytes.length - held)
    const passing = bytes.subarray(this.#passed, end)
    const kept = Math.min(end, bytes.length - needed)
    this.#bytes = Buffer.from(bytes.subarray(kept))
    this.#passed = end - kept
    return passing
  }

  rest(): Buffer {
    const rest = this.#bytes.subarray(this.#passed)
    this.#bytes = Buffer.alloc(0)
    this.#passed = 0
    return rest
  }
}
