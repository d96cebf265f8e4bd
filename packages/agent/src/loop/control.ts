/** Why a run is cut short from outside. */
export type Cut = 'stopped' | 'wall_time'

/** Pausing, stopping and the end of the time: what a run listens to while it works. */
export class Control implements Disposable {
  readonly #abort = new AbortController()
  #gate: PromiseWithResolvers<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #cut: { readonly cut: Cut; readonly detail: string } | null = null

  /** Aborted when the run is cut short. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  get cut(): { readonly cut: Cut; readonly detail: string } | null {
    return this.#cut
  }

  get paused(): boolean {
    return this.#gate !== null
  }

  pause(): void {
    this.#gate ??= Promise.withResolvers<void>()
  }

  resume(): void {
    this.#gate?.resolve()
    this.#gate = null
  }

  stop(cut: Cut, detail: string): void {
    this.#cut ??= { cut, detail }
    this.#abort.abort(new Error(detail))
    this.resume()
  }

  /** Resolves when the run is not paused. */
  async open(): Promise<void> {
    await this.#gate?.promise
  }

  /** Ends the run after this time; asked for anew after a pause. */
  limit(milliseconds: number): void {
    this.unlimit()
    const longest = 2 ** 31 - 1
    this.#timer = setTimeout(
      () => this.stop('wall_time', 'the time of the run is over'),
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
  }
}
