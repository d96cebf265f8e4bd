/** How far back a use counts as one of now. */
const WINDOW_MS = 60_000

/** How often something was asked for lately. */
export class Demand {
  readonly #most: number
  /** Of the last uses, the newest last; no more than matter. */
  #uses: number[] = []

  constructor(most: number) {
    this.#most = most
  }

  note(now: number): void {
    this.#uses = [...this.#uses, now].slice(-this.#most)
  }

  get lastMs(): number {
    return this.#uses.at(-1) ?? Number.NEGATIVE_INFINITY
  }

  /** How many should wait: as many as were asked for in the last minute, and one until nobody has asked for `idleMs`. */
  wanted(now: number, idleMs: number): number {
    const recent = this.#uses.filter((use) => now - use < WINDOW_MS).length
    return now - this.lastMs < idleMs ? Math.max(1, recent) : 0
  }

  /** Nobody has asked for it within the window. */
  isStale(now: number): boolean {
    return now - this.lastMs >= WINDOW_MS
  }
}
