import type { HearthError } from '@hearth/contract'

/** Where a `Pull` gets its values from. */
export interface PullSource<Value> {
  /** The next value that is there, if any. */
  take(): Value | undefined
  /** The reader has gone away before the end. */
  abandoned(): void
}

/** An async iterator over what a channel brings, one reader, each value once. Nothing is taken before it is asked for. */
export class Pull<Value> implements AsyncIterableIterator<Value> {
  readonly #source: PullSource<Value>
  readonly #readers: PromiseWithResolvers<IteratorResult<Value>>[] = []
  #end: { error: HearthError | null } | null = null
  #started = false

  constructor(source: PullSource<Value>) {
    this.#source = source
  }

  /** Somebody reads or has read. */
  get started(): boolean {
    return this.#started
  }

  /** True when the reader waits for more than there is. */
  get hungry(): boolean {
    return this.#readers.length > 0
  }

  /** There may be a new value. */
  notify(): void {
    while (this.#readers.length > 0) {
      const value = this.#source.take()
      if (value === undefined) return
      this.#readers.shift()?.resolve({ done: false, value })
    }
  }

  /** No more values come. What is already there is still given out; then the error, if there is one, once. */
  end(error: HearthError | null): void {
    if (this.#end !== null) return
    this.notify()
    this.#end = { error }
    for (const reader of this.#readers.splice(0)) this.#settle(reader)
  }

  next(): Promise<IteratorResult<Value>> {
    this.#started = true
    const value = this.#readers.length === 0 ? this.#source.take() : undefined
    if (value !== undefined) return Promise.resolve({ done: false, value })
    const reader = Promise.withResolvers<IteratorResult<Value>>()
    if (this.#end === null) this.#readers.push(reader)
    else this.#settle(reader)
    return reader.promise
  }

  return(): Promise<IteratorResult<Value>> {
    this.#started = true
    if (this.#end === null) this.#source.abandoned()
    this.end(null)
    // The source may have ended with an error that nobody wants any more.
    this.#end = { error: null }
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #settle(reader: PromiseWithResolvers<IteratorResult<Value>>): void {
    const error = this.#end?.error
    if (error) {
      this.#end = { error: null }
      reader.reject(error)
    } else reader.resolve({ done: true, value: undefined })
  }
}
