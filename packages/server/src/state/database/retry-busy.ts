import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy } from './typed-errors.ts'

const GIVE_UP_AFTER_MS = 5000
const LONGEST_PAUSE_MS = 20

/**
 * Repeats what SQLite refused because another process writes, without blocking this one as its own waiting would. A statement
 * that was refused so did nothing; inside a transaction it does not happen, since each takes the lock when it begins.
 */
export async function retryBusy<T>(run: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + GIVE_UP_AFTER_MS
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await run()
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
    }
    // Uneven, so that several who wait do not come back together.
    await sleep(pauseMs * (0.5 + Math.random()))
  }
}
