/** What must not happen at the same time comes one after the other. */
export class Turns {
  readonly #check: () => void
  #last: Promise<unknown> = Promise.resolve()

  /** `check` throws when there is nothing more to be done. */
  constructor(check: () => void) {
    this.#check = check
  }

  async take<Value>(work: () => Promise<Value>): Promise<Value> {
    const mine = this.#last.then(() => {
      this.#check()
      return work()
    })
    // Each caller hears of its own failure.
    this.#last = mine.catch(() => undefined)
    return await mine
  }
}
