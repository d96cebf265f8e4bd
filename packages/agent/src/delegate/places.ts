/** How many sub-agents may work at one time and in all, of one holder and all below it. */
export class Places {
  readonly #most: number
  readonly #above: Places | null
  #taken = 0
  #left: number

  constructor(most: number, inAll: number, above: Places | null) {
    this.#most = most
    this.#left = inAll
    this.#above = above
  }

  /** Null when none is free. Nobody waits for one here: those who have the places may be waiting for whoever asks. */
  take(): Disposable | null {
    if (this.#taken >= this.#most || this.#left <= 0) return null
    const above = this.#above?.take()
    if (above === null) return null
    this.#taken++
    this.#left--
    return {
      [Symbol.dispose]: () => {
        this.#taken--
        above?.[Symbol.dispose]()
      },
    }
  }
}
