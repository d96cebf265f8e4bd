import { assertNotAborted, onAbort } from '../link/abort.ts'

/** One piece of work that several callers wait for. It is aborted when the last of them has given up. */
export class SharedTask<Value> {
  readonly #controller = new AbortController()
  readonly #result: Promise<Value>
  #waiting = 0

  constructor(work: (signal: AbortSignal) => Promise<Value>) {
    this.#result = work(this.#controller.signal)
    // Every waiter sees the failure; without one it concerns nobody.
    this.#result.catch(() => undefined)
  }

  /** True once everybody gave up: it can no longer be joined. */
  get abandoned(): boolean {
    return this.#controller.signal.aborted
  }

  async wait(signal: AbortSignal | undefined): Promise<Value> {
    assertNotAborted(signal)
    this.#waiting++
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    const stopListening = onAbort(signal, reject)
    try {
      return await Promise.race([this.#result, gaveUp])
    } finally {
      stopListening()
      if (--this.#waiting === 0) this.#controller.abort()
    }
  }
}
