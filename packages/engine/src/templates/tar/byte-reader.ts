import { TarError } from './tar-header.ts'

/** Takes exact numbers of bytes from a stream of chunks of any size. */
export class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Buffer = Buffer.alloc(0)
  #ended = false

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Between 1 and `most` bytes, or null at the end. A view that is valid until the source reuses its buffer. */
  async some(most: number): Promise<Buffer | null> {
    while (this.#chunk.length === 0) {
      if (!(await this.#fill())) return null
    }
    const taken = this.#chunk.subarray(0, most)
    this.#chunk = this.#chunk.subarray(taken.length)
    return taken
  }

  /** Exactly `count` bytes, or null when the stream ends before the first. `count` must be small. */
  async exactly(count: number): Promise<Buffer | null> {
    if (this.#chunk.length >= count) {
      const taken = this.#chunk.subarray(0, count)
      this.#chunk = this.#chunk.subarray(count)
      return taken
    }
    const parts: Buffer[] = []
    let missing = count
    while (missing > 0) {
      const part = await this.some(missing)
      if (part === null) {
        if (missing === count) return null
        throw new TarError('the archive is truncated')
      }
      parts.push(part)
      missing -= part.length
    }
    return Buffer.concat(parts, count)
  }

  async skip(count: number): Promise<void> {
    let missing = count
    while (missing > 0) {
      const part = await this.some(missing)
      if (part === null) throw new TarError('the archive is truncated')
      missing -= part.length
    }
  }

  /** Reads to the end, so that whoever hashes or counts the stream sees all of it. */
  async drain(): Promise<void> {
    this.#chunk = Buffer.alloc(0)
    while (await this.#fill()) this.#chunk = Buffer.alloc(0)
  }

  async close(): Promise<void> {
    await this.#source.return?.()
  }

  async #fill(): Promise<boolean> {
    if (this.#ended) return false
    const { done, value } = await this.#source.next()
    if (done === true) {
      this.#ended = true
      return false
    }
    this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    return true
  }
}
