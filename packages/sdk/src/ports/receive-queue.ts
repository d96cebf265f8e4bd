import type { HearthError } from '../hearth-error.ts'

interface Waiter {
  readonly resolve: (result: IteratorResult<Uint8Array, undefined>) => void
  readonly reject: (error: HearthError) => void
}

/** Bytes that came and wait for their reader. Whoever sends them is bounded by what `taken` gives back. */
export class ReceiveQueue implements AsyncIterableIterator<Uint8Array, undefined> {
  readonly #taken: (bytes: number) => void
  readonly #abandoned: () => void
  readonly #pieces: Uint8Array[] = []
  readonly #waiters: Waiter[] = []
  #bytes = 0
  #ended = false
  #failure: HearthError | null = null

  constructor(taken: (bytes: number) => void, abandoned: () => void) {
    this.#taken = taken
    this.#abandoned = abandoned
  }

  get bytes(): number {
    return this.#bytes
  }

  push(piece: Uint8Array): void {
    if (this.#ended || piece.length === 0) return
    const waiter = this.#waiters.shift()
    if (waiter !== undefined) {
      this.#taken(piece.length)
      return waiter.resolve({ done: false, value: piece })
    }
    this.#pieces.push(piece)
    this.#bytes += piece.length
  }

  /** What came before is still read, then the error is thrown. */
  end(failure: HearthError | null): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = failure
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter)
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const piece = this.#pieces.shift()
    if (piece !== undefined) {
      this.#bytes -= piece.length
      this.#taken(piece.length)
      return { done: false, value: piece }
    }
    return await new Promise((resolve, reject) => {
      if (this.#ended) this.#finish({ resolve, reject })
      else this.#waiters.push({ resolve, reject })
    })
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#pieces.length = 0
    this.#failure = null
    this.end(null)
    this.#abandoned()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #finish(waiter: Waiter): void {
    const failure = this.#failure
    this.#failure = null
    if (failure === null) waiter.resolve({ done: true, value: undefined })
    else waiter.reject(failure)
  }
}
