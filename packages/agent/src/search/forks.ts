import { setImmediate as nextTurn } from 'node:timers/promises'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'

const RENEWALS = 3

/**
 * Copies of one machine, each gone after its use whatever happens. Their deadline is short and moved as long as this process lives: one
 * that is killed leaves nothing behind for longer. Those that are asked for at once come out of one capture.
 */
export class Forks implements AsyncDisposable {
  readonly #base: Sandbox
  readonly #leaseMs: number
  readonly #living = new Set<Sandbox>()
  readonly #timer: NodeJS.Timeout
  #asked: PromiseWithResolvers<Sandbox>[] = []
  #serving = false

  constructor(base: Sandbox, leaseMs: number) {
    this.#base = base
    this.#leaseMs = leaseMs
    this.#timer = setInterval(() => this.#renew(), leaseMs / RENEWALS)
  }

  /** The fork ends with the work, or as soon as the signal says so, which ends what runs in it. */
  async use<Result>(work: (fork: Sandbox) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted()
    const fork = await this.#take()
    this.#living.add(fork)
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
    this.#living.delete(fork)
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
        const { children } = await this.#base.fork(batch.length, { ttlMs: this.#leaseMs })
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

  #renew(): void {
    for (const fork of this.#living) {
      // One that cannot be renewed ends, and whoever uses it is told that by its next call.
      void fork.renew(this.#leaseMs).catch(() => undefined)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all(Array.from(this.#living, async (fork) => await this.#end(fork)))
  }
}
