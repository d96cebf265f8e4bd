import { BOUNDS, type OutputChunk } from '@hearth/contract'

type Stream = OutputChunk['stream']

/** Longest chunk; a large write is cut so that a reader with a little room gets on. */
const CHUNK = 64 * 1024

/**
 * The output of one process: the last part of it is retained, a reader follows it, and a writer that is too far ahead of
 * an attached reader waits. One reader at a time; a new one ends the one before.
 */
export class OutputLog {
  #chunks: { readonly stream: Stream; readonly data: Uint8Array; readonly offset: number }[] = []
  #retained = 0
  #total = 0
  #ended = false
  #reader: { offset: number; lax: boolean } | null = null
  #waiting: (() => void)[] = []

  get totalBytes(): number {
    return this.#total
  }

  get oldestOffset(): number {
    return this.#chunks[0]?.offset ?? this.#total
  }

  /** True when nothing is left for the reader, or there is none. */
  get drained(): boolean {
    return this.#reader === null || this.#reader.lax || this.#reader.offset >= this.#total
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
  attach(offset: number): object {
    this.#reader = { offset: Math.min(offset, this.#total), lax: false }
    this.#wake()
    return this.#reader
  }

  /** The writer no longer waits, and the reader, if it still is this one, ends. */
  detach(reader: object): void {
    if (this.#reader !== reader) return
    this.#reader = null
    this.#trim()
    this.#wake()
  }

  /** The writer no longer waits for this reader, which may lose what is no longer retained when it reads after all. */
  release(reader: object): void {
    if (this.#reader === null || this.#reader !== reader) return
    this.#reader.lax = true
    this.#trim()
    this.#wake()
  }

  async *read(reader: object): AsyncGenerator<OutputChunk, void> {
    if (this.#reader !== null && this.#reader === reader) this.#reader.lax = false
    for (;;) {
      await this.#until(() => this.#reader !== reader || this.#ended || this.#reader.offset < this.#total)
      const current = this.#reader
      if (current === null || current !== reader || current.offset >= this.#total) return
      const chunk = this.#chunks.find((each) => each.offset + each.data.length > current.offset)
      if (chunk === undefined) return
      const skipped = Math.max(0, current.offset - chunk.offset)
      const dropped = Math.max(0, chunk.offset - current.offset)
      const offset = chunk.offset + skipped
      current.offset = chunk.offset + chunk.data.length
      this.#trim()
      this.#wake()
      yield { stream: chunk.stream, data: chunk.data.slice(skipped), offset, dropped }
    }
  }

  /** Resolves when it has ended and the reader, if there is one, has everything. */
  async finished(): Promise<void> {
    await this.#until(() => this.#ended && this.drained)
  }

  #isFull(): boolean {
    return this.#reader?.lax === false && this.#total - this.#reader.offset >= BOUNDS.channelWindowBytes
  }

  /** Drops the oldest chunks beyond what is retained, but never what the attached reader has still to get. */
  #trim(): void {
    const needed = this.#reader?.lax === false ? this.#reader.offset : Number.POSITIVE_INFINITY
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
