import { BOUNDS, HearthError, type OutputChunk } from '@hearth/contract'

type Stream = OutputChunk['stream']

/** Longest chunk; a large write is cut so that a reader with a little room gets on. */
const CHUNK = 64 * 1024
/** As many as the guest of the other rungs allows. */
const READERS = 64

interface Reader {
  offset: number
  lax: boolean
}

/**
 * The output of one process: the last part of it is retained, readers follow it each at its own pace, and a writer that is too far
 * ahead of the slowest waits.
 */
export class OutputLog {
  #chunks: { readonly stream: Stream; readonly data: Uint8Array; readonly offset: number }[] = []
  #retained = 0
  #total = 0
  #ended = false
  readonly #readers = new Set<Reader>()
  #waiting: (() => void)[] = []

  get totalBytes(): number {
    return this.#total
  }

  get oldestOffset(): number {
    return this.#chunks[0]?.offset ?? this.#total
  }

  async write(stream: Stream, bytes: Uint8Array): Promise<void> {
    for (let start = 0; start < bytes.length; start += CHUNK) {
      await this.#until(() => this.#ended || !this.#isFull())
      if (this.#ended) return
      const data = bytes.slice(start, start + CHUNK)
      this.#chunks.push({ stream, data, offset: this.#total })
      this.#total += data.length
      this.#retained += data.length
      this.#trim()
      this.#wake()
    }
  }

  /** No more output. Writes that come later are dropped. */
  end(): void {
    this.#ended = true
    this.#wake()
  }

  /** Attaches at an offset. Call `detach` with what this returns, or `read` it. */
  attach(offset: number): Reader {
    if (this.#readers.size >= READERS)
      throw new HearthError('too_many', `at most ${READERS} readers can follow a process`)
    const reader = { offset: Math.min(offset, this.#total), lax: false }
    this.#readers.add(reader)
    this.#wake()
    return reader
  }

  /** The writer no longer waits for this reader, which ends. */
  detach(reader: Reader): void {
    this.#readers.delete(reader)
    this.#trim()
    this.#wake()
  }

  /** The writer no longer waits for this reader, which may lose what is no longer retained when it reads after all. */
  release(reader: Reader): void {
    reader.lax = true
    this.#trim()
    this.#wake()
  }

  async *read(reader: Reader): AsyncGenerator<OutputChunk, void> {
    reader.lax = false
    for (;;) {
      await this.#until(() => !this.#readers.has(reader) || this.#ended || reader.offset < this.#total)
      if (!this.#readers.has(reader) || reader.offset >= this.#total) return
      const chunk = this.#chunks.find((each) => each.offset + each.data.length > reader.offset)
      if (chunk === undefined) return
      const skipped = Math.max(0, reader.offset - chunk.offset)
      const dropped = Math.max(0, chunk.offset - reader.offset)
      const offset = chunk.offset + skipped
      reader.offset = chunk.offset + chunk.data.length
      this.#trim()
      this.#wake()
      yield { stream: chunk.stream, data: chunk.data.slice(skipped), offset, dropped }
    }
  }

  /** Resolves when it has ended and this reader has everything, or does not read. */
  async finished(reader: Reader): Promise<void> {
    const done = (): boolean => !this.#readers.has(reader) || reader.lax || reader.offset >= this.#total
    await this.#until(() => this.#ended && done())
  }

  #isFull(): boolean {
    return this.#total - this.#needed() >= BOUNDS.channelWindowBytes
  }

  /** The first byte that somebody has still to get. */
  #needed(): number {
    return Math.min(this.#total, ...[...this.#readers].filter(({ lax }) => !lax).map(({ offset }) => offset))
  }

  /** Drops the oldest chunks beyond what is retained, but never what an attached reader has still to get. */
  #trim(): void {
    const needed = this.#needed()
    while (this.#retained > BOUNDS.retainedOutputBytes) {
      const oldest = this.#chunks[0]
      if (oldest === undefined || oldest.offset + oldest.data.length > needed) return
      this.#chunks.shift()
      this.#retained -= oldest.data.length
    }
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#waiting.push(resolve)
      })
    }
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}
