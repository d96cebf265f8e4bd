import { HearthError } from '../hearth-error.ts'
import { Cancellation, pause } from './cancellation.ts'
import { backoffMs, isPassing } from './retry.ts'

const LONGEST_DELAY_MS = 2000

/** Decides how long a broken stream is taken up again: until nothing has come of it for the whole of `patienceMs`. */
export class Persistence {
  readonly #patienceMs: number
  readonly #signal: AbortSignal
  #failures = 0
  #brokenAt: number | null = null

  constructor(patienceMs: number, signal: AbortSignal) {
    this.#patienceMs = patienceMs
    this.#signal = signal
  }

  /** Something came: the next failure is the first again. */
  progressed(): void {
    this.#failures = 0
    this.#brokenAt = null
  }

  /** Waits before the next attempt, or throws the error when there should be none. */
  async afterFailure(error: unknown): Promise<void> {
    if (this.#signal.aborted || !isPassing(error)) throw error
    const now = Date.now()
    this.#brokenAt ??= now
    if (now - this.#brokenAt >= this.#patienceMs) throw error
    await pause(backoffMs(this.#failures++, LONGEST_DELAY_MS), new Cancellation(this.#signal))
  }
}

/** A stream that ended without its last event. */
export function brokenStream(what: string): HearthError {
  return new HearthError('link_lost', `the stream of ${what} broke off`)
}
