import type { OnProblem } from '../../host/in-background.ts'
import type { BakedMachine } from './baked-machine.ts'

/** After a failure machines boot until then. It may have been a disk that was full, or a host that was too busy. */
export const FIRST_WAIT_MS = 60_000
/** Each try costs whoever waits for it the time of a boot, so that each wait is twice the one before, up to this. */
export const LONGEST_WAIT_MS = 3_600_000

interface Failure {
  readonly waitMs: number
  readonly againAt: number
}

/** Which machines could not be baked, and when the next launch tries again. Launches of one shape that come together wait for one try. */
export class BakeAttempts {
  readonly #under = new Map<string, Promise<BakedMachine | null>>()
  readonly #failures = new Map<string, Failure>()
  readonly #now: () => number

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Null: it cannot be baked now, and the machine boots. Why is told once for each try. */
  async get(key: string, bake: () => Promise<BakedMachine>, onProblem: OnProblem): Promise<BakedMachine | null> {
    const under = this.#under.get(key)
    if (under !== undefined) return await under
    const failure = this.#failures.get(key)
    if (failure !== undefined && this.#now() < failure.againAt) return null
    const attempt = this.#attempt(key, bake, onProblem)
    this.#under.set(key, attempt)
    try {
      return await attempt
    } finally {
      // Looked for each time: another process may have removed it.
      this.#under.delete(key)
    }
  }

  async #attempt(key: string, bake: () => Promise<BakedMachine>, onProblem: OnProblem): Promise<BakedMachine | null> {
    try {
      const baked = await bake()
      this.#failures.delete(key)
      return baked
    } catch (error) {
      const before = this.#failures.get(key)
      const waitMs = before === undefined ? FIRST_WAIT_MS : Math.min(2 * before.waitMs, LONGEST_WAIT_MS)
      this.#failures.set(key, { waitMs, againAt: this.#now() + waitMs })
      onProblem(
        `making a machine that others go on from; they boot, and it is tried again in ${waitMs / 1000} s`,
        error,
      )
      return null
    }
  }
}
