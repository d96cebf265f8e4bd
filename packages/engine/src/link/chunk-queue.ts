const SMALL_BYTES = 4096
const SLAB_BYTES = 16 * 1024

interface Entry {
  readonly tag: number
  readonly bytes: Uint8Array
  readonly start: number
  length: number
}

/** A piece of a byte stream; `tag` is whatever the owner of the queue gave it. */
export interface Piece {
  readonly tag: number
  readonly data: Uint8Array
}

/**
 * Bytes that wait for their reader. What it gives out belongs to the reader alone. Many tiny pieces are put together as far as their
 * tags allow, so that a sender who stays within its credit cannot make the queue cost a multiple of it.
 */
export class ChunkQueue {
  #entries: Entry[] = []
  #head = 0
  #slab: Uint8Array = new Uint8Array(0)
  #slabUsed = 0

  get empty(): boolean {
    return this.#head === this.#entries.length
  }

  /** `stable`: the bytes are the caller's to give away; otherwise they are copied. */
  push(tag: number, bytes: Uint8Array, stable: boolean): void {
    if (bytes.length >= SMALL_BYTES || this.empty) {
      // A small piece must not keep the large chunk alive in which it came.
      const keep = stable && bytes.length * 4 >= bytes.buffer.byteLength
      const own = keep ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length) : new Uint8Array(bytes)
      this.#entries.push({ tag, bytes: own, start: 0, length: own.length })
      return
    }
    if (this.#slab.length - this.#slabUsed < bytes.length) {
      this.#slab = new Uint8Array(SLAB_BYTES)
      this.#slabUsed = 0
    }
    const start = this.#slabUsed
    this.#slab.set(bytes, start)
    this.#slabUsed += bytes.length
    const last = this.#entries.at(-1)
    if (last?.tag === tag && last.bytes === this.#slab && last.start + last.length === start)
      last.length += bytes.length
    else this.#entries.push({ tag, bytes: this.#slab, start, length: bytes.length })
  }

  take(): Piece | undefined {
    const entry = this.#entries[this.#head]
    if (entry === undefined) return undefined
    this.#head++
    if (this.empty || this.#head > 1024) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return { tag: entry.tag, data: entry.bytes.subarray(entry.start, entry.start + entry.length) }
  }

  clear(): void {
    this.#entries = []
    this.#head = 0
  }
}
