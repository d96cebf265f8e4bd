import { sql } from 'kysely'
import type { Database } from '../database/database.ts'
import { EVENT_CHANNEL } from '../events/write-events.ts'
import { WakeUps, type WakeUp } from '../events/wake-ups.ts'

/** Wakes those who follow one run, and nobody else: there may be many runs, each with followers of its own. */
export class RunChanges {
  readonly #byRun = new Map<string, WakeUps>()
  #closed = false

  get closed(): boolean {
    return this.#closed
  }

  /** As `WakeUps.next`. */
  next(key: string): WakeUp {
    const waiting = this.#byRun.get(key) ?? new WakeUps()
    this.#byRun.set(key, waiting)
    const { promise, cancel } = waiting.next()
    return {
      promise,
      cancel: () => {
        cancel()
        if (waiting.idle && this.#byRun.get(key) === waiting) this.#byRun.delete(key)
      },
    }
  }

  wake(key: string): void {
    const waiting = this.#byRun.get(key)
    this.#byRun.delete(key)
    waiting?.wake()
  }

  close(): void {
    this.#closed = true
    for (const key of this.#byRun.keys()) this.wake(key)
  }
}

export function runKey(tenantId: string, run: string): string {
  return `${tenantId} ${run}`
}

/** Tells the other servers on the same Postgres, when the transaction commits. */
export async function notifyRun(database: Database, key: string): Promise<void> {
  if (database.dialect === 'postgres') await sql`select pg_notify(${EVENT_CHANNEL}, ${key})`.execute(database.query)
}
