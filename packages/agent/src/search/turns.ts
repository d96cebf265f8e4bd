/** Lets a few work at a time; the others wait for their turn in the order in which they came. */
export class Turns {
  readonly #most: number
  readonly #waiting: (() => void)[] = []
  #working = 0

  constructor(most: number) {
    this.#most = Math.max(1, most)
  }

  async take<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#working >= this.#most) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#working++
    try {
      return await work()
    } finally {
      // The turn is handed on, so that nobody who comes meanwhile gets it first.
      const next = this.#waiting.shift()
      if (next === undefined) this.#working--
      else next()
    }
  }
}
