/** Wakes those who wait for events. A wake-up says only that there may be some: a spurious one costs one read. */
export class WakeUps {
  readonly #waiting = new Set<() => void>()
  #closed = false

  /** True when no event will come any more. */
  get closed(): boolean {
    return this.#closed
  }

  wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const resolve of waiting) resolve()
  }

  close(): void {
    this.#closed = true
    this.wake()
  }

  /** Take it before reading, wait for it after an empty read: a wake-up in between is not lost. */
  next(): WakeUp {
    let resolve = (): void => undefined
    const promise = new Promise<void>((done) => {
      resolve = done
    })
    this.#waiting.add(resolve)
    const cancel = (): void => {
      this.#waiting.delete(resolve)
      resolve()
    }
    return { promise, cancel }
  }
}

export interface WakeUp {
  readonly promise: Promise<void>
  /** Ends the wait. Must be called in every case, or the waiter stays registered until the next event. */
  readonly cancel: () => void
}
