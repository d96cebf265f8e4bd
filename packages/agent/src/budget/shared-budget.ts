import type { BudgetLimits, Spent } from '@hearth/contract'
import { exhausted } from './budget.ts'

/** What one call of a model may use, as far as that is known beforehand; and what it has used. */
export interface Use {
  readonly tokens: number
  readonly dollars: number
}

/** A call that is under way. Disposed without an end it has used nothing but its step. */
export interface Reservation extends Disposable {
  end(used: Use): void
}

const NOTHING: Use = { tokens: 0, dollars: 0 }

/**
 * What a run and all its children may use together. A call reserves what it may use; where that could be too much together with the calls
 * under way it waits for them. So however many work at once, the limits are exceeded by one call at the most.
 */
export class SharedBudget {
  readonly limits: BudgetLimits
  readonly #above: SharedBudget | null
  #countedFrom = Date.now()
  #stoodStillAt: number | null = null
  readonly #earlier: Spent
  readonly #underWay = new Set<Use>()
  #steps = 0
  #used = NOTHING
  #changed = Promise.withResolvers<void>()

  /** `earlier`: what was used before, for work that another process began. `above`: what this one is a part of, and is counted in too. */
  constructor(
    limits: BudgetLimits,
    earlier: Spent = { steps: 0, ...NOTHING, wallTimeMs: 0 },
    above: SharedBudget | null = null,
  ) {
    this.limits = limits
    this.#earlier = earlier
    this.#above = above
  }

  /** This one and all that it is a part of. */
  get chain(): readonly SharedBudget[] {
    return [this, ...(this.#above?.chain ?? [])]
  }

  get spent(): Spent {
    return {
      steps: this.#earlier.steps + this.#steps,
      tokens: this.#earlier.tokens + this.#used.tokens,
      dollars: this.#earlier.dollars + this.#used.dollars,
      wallTimeMs: this.#earlier.wallTimeMs + (this.#stoodStillAt ?? Date.now()) - this.#countedFrom,
    }
  }

  /** With what the calls under way may use. */
  get promised(): Spent {
    const promised = [...this.#underWay].reduce(add, NOTHING)
    return { ...this.spent, ...add(this.spent, promised) }
  }

  get remainingMs(): number {
    const own = Math.max(0, this.limits.wallTimeMs - this.spent.wallTimeMs)
    return Math.min(own, this.#above?.remainingMs ?? Infinity)
  }

  /** In a pause no time passes. */
  standStill(): void {
    this.#stoodStillAt ??= Date.now()
  }

  goOn(): void {
    if (this.#stoodStillAt !== null) this.#countedFrom += Date.now() - this.#stoodStillAt
    this.#stoodStillAt = null
  }

  /** Which part is used up. */
  get over(): ReturnType<typeof exhausted> {
    return exhausted(this.limits, this.spent) ?? this.#above?.over ?? null
  }

  /** Takes a step and keeps what it may use from the others, or says which part is used up. */
  async reserve(most: Use, signal: AbortSignal): Promise<Reservation | NonNullable<SharedBudget['over']>> {
    const own = await this.#reserveHere(most, signal)
    if (typeof own === 'string' || this.#above === null) return own
    try {
      const above = await this.#above.reserve(most, signal)
      if (typeof above !== 'string') return both(own, above)
      own[Symbol.dispose]()
      return above
    } catch (error) {
      own[Symbol.dispose]()
      throw error
    }
  }

  async #reserveHere(most: Use, signal: AbortSignal): Promise<Reservation | NonNullable<SharedBudget['over']>> {
    const stop = (): void => this.#tell()
    signal.addEventListener('abort', stop, { once: true })
    try {
      for (;;) {
        signal.throwIfAborted()
        const { over } = this
        if (over !== null) return over
        if (this.#underWay.size === 0 || this.#fits(most)) return this.#take(most)
        await this.#changed.promise
      }
    } finally {
      signal.removeEventListener('abort', stop)
    }
  }

  #fits(most: Use): boolean {
    const { tokens, dollars } = add(this.promised, most)
    return tokens <= this.limits.tokens && (this.limits.dollars === null || dollars <= this.limits.dollars)
  }

  #take(most: Use): Reservation {
    const entry = { ...most }
    this.#steps++
    this.#underWay.add(entry)
    const end = (used: Use): void => {
      if (!this.#underWay.delete(entry)) return
      this.#used = add(this.#used, used)
      this.#tell()
    }
    return { end, [Symbol.dispose]: () => end(NOTHING) }
  }

  #tell(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}

function both(one: Reservation, other: Reservation): Reservation {
  return {
    end: (used) => {
      one.end(used)
      other.end(used)
    },
    [Symbol.dispose]: () => {
      one[Symbol.dispose]()
      other[Symbol.dispose]()
    },
  }
}

function add(one: Use, other: Use): Use {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars }
}
