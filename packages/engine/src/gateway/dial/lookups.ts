import { BOUNDS } from '@hearth/contract'
import { dialRefused } from './dial-refused.ts'

/** The addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>

interface Answer {
  readonly found: Promise<readonly string[]>
  /** Until when another may have it: as long as it is awaited not longer than anybody would wait. */
  until: number
}

/** Answers that are kept at one time. */
const MOST_ANSWERS = 4096

/** What all sandboxes ask of one resolver: a lookup that is under way is shared, and an answer is good for a moment. */
class SharedLookups {
  readonly #resolve: Resolve
  readonly #answers = new Map<string, Answer>()

  constructor(resolve: Resolve) {
    this.#resolve = resolve
  }

  /** Null when it would have to be asked for. */
  known(name: string): Promise<readonly string[]> | null {
    const answer = this.#answers.get(name)
    return answer === undefined || answer.until < performance.now() ? null : answer.found
  }

  ask(name: string): Promise<readonly string[]> {
    const known = this.known(name)
    if (known !== null) return known
    const answer = { found: this.#resolve(name), until: performance.now() + BOUNDS.lookupMs }
    this.#answers.delete(name)
    this.#answers.set(name, answer)
    answer.found.then(
      () => {
        answer.until = performance.now() + BOUNDS.lookupKeptMs
      },
      () => {
        answer.until = -Infinity
      },
    )
    const [oldest] = this.#answers.keys()
    if (this.#answers.size > MOST_ANSWERS && oldest !== undefined) this.#answers.delete(oldest)
    return answer.found
  }
}

const shared = new WeakMap<Resolve, SharedLookups>()

/**
 * The lookups of one sandbox. It has but a few at one time, so that names which nobody answers for do not keep the resolver of the host from
 * all others; what waits longer than anybody would is refused.
 */
export class Lookups {
  readonly #shared: SharedLookups
  /** Each begins one. */
  readonly #waiting: (() => Promise<unknown>)[] = []
  #running = 0

  constructor(resolve: Resolve) {
    let lookups = shared.get(resolve)
    if (lookups === undefined) {
      lookups = new SharedLookups(resolve)
      shared.set(resolve, lookups)
    }
    this.#shared = lookups
  }

  /** Rejects with a refusal when the name has no address, or nobody says so in time. */
  async addressesOf(name: string): Promise<readonly string[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly string[]>()
    const late = (): void => reject(dialRefused('name_not_found', `${name} was not found within ${BOUNDS.lookupMs} ms`))
    const timer = setTimeout(late, BOUNDS.lookupMs)
    const settle = (found: Promise<readonly string[]>): Promise<unknown> => {
      found.then(resolve, (cause: unknown) =>
        reject(dialRefused('name_not_found', `${name} has no address`, { cause })),
      )
      return found
    }
    const known = this.#shared.known(name)
    const waiting = (): Promise<unknown> => settle(this.#shared.ask(name))
    if (known === null) this.#enqueue(waiting)
    else void settle(known).catch(() => undefined)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      const at = this.#waiting.indexOf(waiting)
      if (at !== -1) this.#waiting.splice(at, 1)
    }
  }

  #enqueue(waiting: () => Promise<unknown>): void {
    this.#waiting.push(waiting)
    this.#next()
  }

  #next(): void {
    if (this.#running >= BOUNDS.lookupsAtOnce) return
    const next = this.#waiting.shift()
    if (next === undefined) return
    this.#running++
    // Also of one for which nobody waits any more: until it has ended it occupies the resolver.
    const ended = (): void => {
      this.#running--
      this.#next()
    }
    next().then(ended, ended)
  }
}
