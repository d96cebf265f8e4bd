import type { Sandbox } from '@hearth/contract'

const RENEWALS = 3

/** Machines whose deadline is short, and moved as long as this process lives: one that is killed leaves nothing behind for longer. */
export class Leases implements Disposable {
  readonly leaseMs: number
  readonly #held = new Set<Sandbox>()
  readonly #timer: NodeJS.Timeout

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs
    this.#timer = setInterval(() => this.#renew(), leaseMs / RENEWALS)
  }

  hold(sandbox: Sandbox): void {
    this.#held.add(sandbox)
  }

  drop(sandbox: Sandbox): void {
    this.#held.delete(sandbox)
  }

  #renew(): void {
    for (const sandbox of this.#held) {
      // One that cannot be renewed ends, and whoever uses it is told that by its next call.
      void sandbox.renew(this.leaseMs).catch(() => undefined)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
