/** Wakes those who wait for events. A wake-up says only that there may be some: a spurious one costs one read. */
export class WakeUps {
  readonly #waiting = new Set<() => void>()
  #closed = false

  /** True when no event will come any more. */
  get closed(): boolean {
    return this.#closed
  }

  /** Nobody waits. */
  get idle(): boolean {
    return this.#waiting.size === 0
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

/** Until it is woken, or the time is over, or the signal aborts. */
export async function waitForWakeUp({ promise, cancel }: WakeUp, pollMs: number, signal?: AbortSignal): Promise<void> {
  // A signal that aborted during the read tells nobody again.
  if (signal?.aborted === true) return
  const timer = setTimeout(cancel, pollMs)
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    await promise
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', cancel)
  }
}
