import { setTimeout as sleep } from 'node:timers/promises'

/** What a search may take for itself, and for each byte: ten times as long as ordinary text does. */
const ORDINARY_MS = 0.25
const ORDINARY_MS_PER_BYTE = 1e-4

/**
 * The time that is spent on searching what passes of one sandbox. What is made to be searched slowly is searched, but waits as long as that took before
 * more of it is, so that one sandbox takes no more than half of the gateway's time for it, over however many connections.
 */
export class SearchTime {
  #free = 0

  /** For how long the next search must wait. */
  get waitMs(): number {
    return Math.max(0, this.#free - performance.now())
  }

  /** Resolves when the next search may be made. */
  async turn(): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- others may have been faster
    while (this.waitMs > 0) await sleep(this.waitMs)
  }

  /** Makes a search of so many bytes, now. */
  during<Result>(bytes: number, search: () => Result): Result {
    const started = performance.now()
    try {
      return search()
    } finally {
      const ended = performance.now()
      const took = ended - started
      if (took > ORDINARY_MS + bytes * ORDINARY_MS_PER_BYTE) this.#free = Math.max(this.#free, ended) + took
    }
  }
}
