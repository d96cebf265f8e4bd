import { sql, type Kysely } from 'kysely'
import type { Database, DialectName } from './database/database.ts'
import type { Tables } from './database/tables.ts'
import type { StoredEvent } from './events/event-record.ts'
import type { PostgresListener } from './events/postgres-listener.ts'
import { writeEvents, type PendingEvent, type WrittenEvents } from './events/write-events.ts'
import { openSession, type SessionParts, type StoreSession } from './session.ts'
import type { Store } from './store.ts'
import { TransactionGuard } from './transaction-guard.ts'

export interface DatabaseStoreParts extends SessionParts {
  readonly dialect: DialectName
  readonly query: Kysely<Tables>
  readonly listener: PostgresListener | null
  readonly onEvents: (events: readonly StoredEvent[]) => void
}

/** The store over an open database whose schema is up to date. */
export function databaseStore(parts: DatabaseStoreParts): Store {
  const connection = new StoreConnection(parts)
  return {
    ...connection.session(),
    dialect: parts.dialect,
    transaction: (work) => connection.transaction(work),
    ping: () => connection.ping(),
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  }
}

class StoreConnection {
  readonly #parts: DatabaseStoreParts
  readonly #guard = new TransactionGuard()
  #closing: Promise<void> | null = null

  constructor(parts: DatabaseStoreParts) {
    this.#parts = parts
  }

  /** In which each call commits by itself. */
  session(): StoreSession {
    const { dialect, query, runChanges } = this.#parts
    return openSession({ dialect, query: query.withPlugin(this.#guard) }, this.#parts, {
      publish: (events) => this.#transaction(async () => undefined, events),
      changed: (run) => runChanges.wake(run),
    })
  }

  async transaction<T>(work: (session: StoreSession) => Promise<T>): Promise<T> {
    const events: PendingEvent[] = []
    const publish = async (appended: readonly PendingEvent[]): Promise<void> => {
      events.push(...appended)
    }
    const runs = new Set<string>()
    const changed = (run: string): void => void runs.add(run)
    const result = await this.#transaction(
      (database) => work(openSession(database, this.#parts, { publish, changed })),
      events,
    )
    for (const run of runs) this.#parts.runChanges.wake(run)
    return result
  }

  async #transaction<T>(work: (database: Database) => Promise<T>, events: readonly PendingEvent[]): Promise<T> {
    const { dialect, query, keys } = this.#parts
    const { result, written } = await this.#guard.run(() =>
      query.transaction().execute(async (inside) => {
        const database = { dialect, query: inside }
        const done = await work(database)
        return { result: done, written: await writeEvents(database, events, keys?.signer ?? null) }
      }),
    )
    if (written.events.length > 0) this.#committed(written)
    return result
  }

  #committed({ events, heads }: WrittenEvents): void {
    this.#parts.keys?.signer.written(heads)
    this.#parts.wakeUps.wake()
    this.#parts.onEvents(events)
  }

  async ping(): Promise<void> {
    await sql`select 1`.execute(this.#parts.query)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#parts.wakeUps.close()
    this.#parts.runChanges.close()
    await this.#parts.listener?.close()
    await this.#parts.query.destroy()
  }
}
