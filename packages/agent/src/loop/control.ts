/** Why a run is cut short from outside. `left`: it is not ended, but nobody goes on with it here. */
export interface Cut {
  readonly cut: 'stopped' | 'wall_time' | 'left'
  readonly detail: string
  /** The message of a person that asked for it. */
  readonly message?: number
}

interface Gate {
  readonly opened: PromiseWithResolvers<void>
  /** Resolves when the pause was written down, or will not be any more. */
  readonly settled: PromiseWithResolvers<void>
  readonly message: number | undefined
}

/** Pausing, stopping and the end of the time: what a run listens to while it works. */
export class Control implements Disposable {
  readonly #abort = new AbortController()
  #gate: Gate | null = null
  #resumedBy: number | undefined
  #timer: NodeJS.Timeout | null = null
  #cut: Cut | null = null

  /** Aborted when the run is cut short. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get cut(): Cut | null {
    return this.#cut
  }

  /** What asked for the pause that is to begin; null when there is none. */
  get pause(): { readonly message: number | undefined } | null {
    return this.#gate
  }

  /** Resolves when the pause has begun, or was taken back before. */
  async beginPause(message?: number): Promise<void> {
    if (this.#cut !== null) return
    this.#gate ??= { opened: Promise.withResolvers(), settled: Promise.withResolvers(), message }
    await this.#gate.settled.promise
  }

  resume(message?: number): void {
    this.#resumedBy = message
    this.#gate?.settled.resolve()
    this.#gate?.opened.resolve()
    this.#gate = null
  }

  stop(cut: Cut): void {
    this.#cut ??= cut
    this.#abort.abort(new Error(cut.detail))
    this.resume()
  }

  /** The pause was written down. Resolves when it is over, with the message that ended it. */
  async opened(): Promise<number | undefined> {
    const gate = this.#gate
    this.#resumedBy = undefined
    gate?.settled.resolve()
    await gate?.opened.promise
    return this.#resumedBy
  }

  /** Ends the run after this time; asked for anew after a pause. */
  limit(milliseconds: number): void {
    this.unlimit()
    const longest = 2 ** 31 - 1
    this.#timer = setTimeout(
      () => this.stop({ cut: 'wall_time', detail: 'the time of the run is over' }),
      Math.min(milliseconds, longest),
    )
  }

  /** Time does not pass. */
  unlimit(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  [Symbol.dispose](): void {
    this.unlimit()
    this.resume()
  }
}
