import { BOUNDS, type CreateSandbox } from '@hearth/contract'
import type { RemoteSandbox } from '@hearth/sdk'

const RENEWALS = 3

/** Sandboxes whose deadline is moved as long as this process lives: they last as long as their session, and end by themselves when it is killed. */
export class Renewals implements Disposable {
  readonly #ttlMs: number
  readonly #held = new Map<string, RemoteSandbox>()
  readonly #timer: NodeJS.Timeout | undefined

  constructor({ ttlMs, persistent }: Pick<CreateSandbox, 'ttlMs' | 'persistent'>) {
    this.#ttlMs = ttlMs ?? BOUNDS.defaultTtlMs
    if (persistent === true) return
    this.#timer = setInterval(() => this.#renew(), this.#ttlMs / RENEWALS).unref()
  }

  hold(sandbox: RemoteSandbox): void {
    this.#held.set(sandbox.id, sandbox)
  }

  drop(id: string): void {
    this.#held.delete(id)
  }

  #renew(): void {
    for (const sandbox of this.#held.values()) {
      // One that cannot be renewed ends, and the next call that needs it is told so.
      void sandbox.renew(this.#ttlMs).catch(() => undefined)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
