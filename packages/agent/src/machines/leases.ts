import type { Sandbox } from '@hearth/contract'

const RENEWALS = 3
/** No deadline is closer. */
const SHORTEST_MS = 1000

/** Machines whose deadline is short, and moved as long as this process lives: one that is killed leaves nothing behind for longer. */
export class Leases implements Disposable {
  readonly leaseMs: number
  readonly #held = new Map<Sandbox, number>()
  readonly #timer: NodeJS.Timeout

  constructor(leaseMs: number) {
    this.leaseMs = leaseMs
    this.#timer = setInterval(() => this.#renew(), leaseMs / RENEWALS)
  }

  /** `until`: it is not renewed to live longer than that, in milliseconds since 1970. */
  hold(sandbox: Sandbox, until = Infinity): void {
    this.#held.set(sandbox, until)
  }

  drop(sandbox: Sandbox): void {
    this.#held.delete(sandbox)
  }

  #renew(): void {
    for (const [sandbox, until] of this.#held) {
      const ttlMs = Math.min(this.leaseMs, Math.floor(until - Date.now()))
      // One that is not renewed, or cannot be, ends, and whoever uses it is told that by its next call.
      if (ttlMs >= SHORTEST_MS) void sandbox.renew(ttlMs).catch(() => undefined)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
