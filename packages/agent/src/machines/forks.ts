import { setImmediate as nextTurn } from 'node:timers/promises'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import type { Leases } from './leases.ts'

/** Copies of one machine, each gone after its use whatever happens. Those that are asked for at once come out of one capture. */
export class Forks {
  readonly #base: Sandbox
  readonly #leases: Leases
  #asked: PromiseWithResolvers<Sandbox>[] = []
  #serving = false

  constructor(base: Sandbox, leases: Leases) {
    this.#base = base
    this.#leases = leases
  }

  /** The fork ends with the work, or as soon as the signal says so, which ends what runs in it. */
  async use<Result>(work: (fork: Sandbox) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted()
    const fork = await this.#take()
    this.#leases.hold(fork)
    const end = (): void => void this.#end(fork).catch(() => undefined)
    signal?.addEventListener('abort', end, { once: true })
    try {
      signal?.throwIfAborted()
      return await work(fork)
    } catch (error) {
      // What broke because the machine was taken away is the consequence.
      signal?.throwIfAborted()
      throw error
    } finally {
      signal?.removeEventListener('abort', end)
      await this.#end(fork)
    }
  }

  async #end(fork: Sandbox): Promise<void> {
    this.#leases.drop(fork)
    await fork.kill()
  }

  async #take(): Promise<Sandbox> {
    const asked = Promise.withResolvers<Sandbox>()
    this.#asked.push(asked)
    if (!this.#serving) void this.#serve()
    return await asked.promise
  }

  /** While one capture is made others are asked for: they come out of the next one together. */
  async #serve(): Promise<void> {
    this.#serving = true
    await nextTurn()
    while (this.#asked.length > 0) {
      const batch = this.#asked.splice(0, BOUNDS.children)
      try {
        const { children } = await this.#base.fork(batch.length, { ttlMs: this.#leases.leaseMs })
        for (const [index, asked] of batch.entries()) {
          const child = children[index]
          if (child === undefined) asked.reject(new HearthError('internal', 'a fork has too few children'))
          else asked.resolve(child)
        }
      } catch (error) {
        for (const asked of batch) asked.reject(error)
      }
    }
    this.#serving = false
  }
}
