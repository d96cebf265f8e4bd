import { assertNotAborted, onAbort } from '../link/abort.ts'
import type { Progress } from './template.ts'

/** One piece of work that several callers wait for; each hears what it says. It is aborted when the last of them has given up. */
export class SharedTask<Value> {
  readonly #controller = new AbortController()
  readonly #result: Promise<Value>
  readonly #listeners = new Set<Progress>()
  #waiting = 0

  constructor(work: (signal: AbortSignal, progress: Progress) => Promise<Value>) {
    this.#result = work(this.#controller.signal, (line) => {
      for (const listener of this.#listeners) listener(line)
    })
    // Every waiter sees the failure; without one it concerns nobody.
    this.#result.catch(() => undefined)
  }

  /** True once everybody gave up: it can no longer be joined. */
  get abandoned(): boolean {
    return this.#controller.signal.aborted
  }

  async wait(signal: AbortSignal | undefined, progress: Progress = () => undefined): Promise<Value> {
    assertNotAborted(signal)
    this.#waiting++
    // One of its own for each who waits, whoever else hears with the same function.
    const listener: Progress = (line) => progress(line)
    this.#listeners.add(listener)
    const { promise: gaveUp, reject } = Promise.withResolvers<never>()
    const stopListening = onAbort(signal, reject)
    try {
      return await Promise.race([this.#result, gaveUp])
    } finally {
      stopListening()
      this.#listeners.delete(listener)
      if (--this.#waiting === 0) this.#controller.abort()
    }
  }
}
