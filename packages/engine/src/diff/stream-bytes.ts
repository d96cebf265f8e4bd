import { HearthError } from '@hearth/contract'

export function broken(what: string): HearthError {
  return new HearthError('protocol_violation', `a stream of changes is broken: ${what}`)
}

/** Exact numbers of bytes out of chunks of any size. */
export class StreamBytes {
  readonly #source: AsyncIterator<Uint8Array>
  #chunk: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#source = chunks[Symbol.asyncIterator]()
  }

  async more(): Promise<boolean> {
    while (this.#chunk.length === 0) {
      const next = await this.#source.next()
      if (next.done === true) return false
      this.#chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.length)
    }
    return true
  }

  /** At least one byte, at most so many; valid until the next call. */
  async some(most: number): Promise<Buffer> {
    if (!(await this.more())) throw broken('it ends too early')
    const part = this.#chunk.subarray(0, most)
    this.#chunk = this.#chunk.subarray(part.length)
    return part
  }

  async take(length: number): Promise<Buffer> {
    if (this.#chunk.length >= length) return length === 0 ? Buffer.alloc(0) : await this.some(length)
    const parts: Buffer[] = []
    for (let left = length; left > 0;) {
      const part = await this.some(left)
      parts.push(Buffer.from(part))
      left -= part.length
    }
    return Buffer.concat(parts)
  }
}
