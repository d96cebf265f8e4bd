import type { HearthError } from '../hearth-error.ts'

interface Waiter<Item> {
  readonly resolve: (result: IteratorResult<Item, undefined>) => void
  readonly reject: (error: HearthError) => void
}

/**
 * One item at a time from a producer to a reader: `put` resolves when the item was taken, so that a slow reader makes the
 * producer wait. When the reader goes away, items are thrown away and the producer goes on.
 */
export class HandOver<Item> implements AsyncIterableIterator<Item, undefined> {
  readonly #abandoned: () => void
  readonly #waiters: Waiter<Item>[] = []
  #slot: { readonly item: Item; readonly taken: () => void } | null = null
  #ended = false
  #failure: HearthError | null = null
  #discarding = false
  #drained: (() => void) | null = null
  #started = false

  /** `abandoned` is called once, when the reader stops before the end. */
  constructor(abandoned: () => void = () => {}) {
    this.#abandoned = abandoned
  }

  /** True when somebody has begun to read. */
  get started(): boolean {
    return this.#started
  }

  put(item: Item): Promise<void> {
    if (this.#discarding || this.#ended) return Promise.resolve()
    const waiter = this.#waiters.shift()
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: item })
      return Promise.resolve()
    }
    return new Promise((taken) => {
      this.#slot = { item, taken }
    })
  }

  /** No more items. An item that waits is still read first, then the error is thrown. The producer need not wait any more. */
  end(failure: HearthError | null): void {
    if (this.#ended) return
    this.#ended = true
    this.#failure = failure
    this.#slot?.taken()
    for (const waiter of this.#waiters.splice(0)) this.#finish(waiter)
  }

  /** Throws away what waits and what comes. */
  discard(): void {
    this.#discarding = true
    this.#take()
  }

  /** Calls back once nothing waits to be read. */
  whenEmpty(callback: () => void): void {
    if (this.#slot === null) callback()
    else this.#drained = callback
  }

  async next(): Promise<IteratorResult<Item, undefined>> {
    this.#started = true
    const item = this.#take()
    if (item !== null) return { done: false, value: item.item }
    return await new Promise((resolve, reject) => {
      const waiter = { resolve, reject }
      if (this.#ended || this.#discarding) this.#finish(waiter)
      else this.#waiters.push(waiter)
    })
  }

  async return(): Promise<IteratorResult<Item, undefined>> {
    this.#started = true
    if (!this.#discarding) {
      this.discard()
      for (const waiter of this.#waiters.splice(0)) waiter.resolve({ done: true, value: undefined })
      if (!this.#ended) this.#abandoned()
    }
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #take(): { readonly item: Item } | null {
    const slot = this.#slot
    if (slot === null) return null
    this.#slot = null
    slot.taken()
    this.#drained?.()
    return slot
  }

  /** A failure is told once; whoever asks again hears that it is over. */
  #finish(waiter: Waiter<Item>): void {
    const failure = this.#failure
    this.#failure = null
    if (failure === null || this.#discarding) waiter.resolve({ done: true, value: undefined })
    else waiter.reject(failure)
  }
}
