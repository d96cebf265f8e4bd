import { sql, type Kysely } from 'kysely'
import { ApiKeyRepository } from './access/api-keys.ts'
import { TenantRepository } from './access/tenants.ts'
import type { Database, DialectName, Sources } from './database/database.ts'
import type { Tables } from './database/tables.ts'
import { EventRepository } from './events/events.ts'
import type { PostgresListener } from './events/postgres-listener.ts'
import type { WakeUps } from './events/wake-ups.ts'
import { writeEvents, type PendingEvent } from './events/write-events.ts'
import { HostRepository } from './hosts.ts'
import { OperationRepository } from './operations/operations.ts'
import { SandboxRepository } from './sandboxes/sandboxes.ts'
import { SnapshotRepository } from './snapshots/snapshots.ts'
import type { Store, StoreSession } from './store.ts'
import { TransactionGuard } from './transaction-guard.ts'

export interface DatabaseStoreParts {
  readonly dialect: DialectName
  readonly query: Kysely<Tables>
  readonly sources: Sources
  readonly wakeUps: WakeUps
  readonly listener: PostgresListener | null
}

export class DatabaseStore implements Store {
  readonly dialect: DialectName
  readonly tenants: TenantRepository
  readonly apiKeys: ApiKeyRepository
  readonly sandboxes: SandboxRepository
  readonly operations: OperationRepository
  readonly events: EventRepository
  readonly hosts: HostRepository
  readonly snapshots: SnapshotRepository
  readonly #parts: DatabaseStoreParts
  readonly #guard = new TransactionGuard()
  #closing: Promise<void> | null = null

  constructor(parts: DatabaseStoreParts) {
    this.#parts = parts
    this.dialect = parts.dialect
    const database = { dialect: parts.dialect, query: parts.query.withPlugin(this.#guard) }
    const session = this.#session(database, (events) =>
      this.#transaction((inside) => writeEvents(inside, events), events),
    )
    this.tenants = session.tenants
    this.apiKeys = session.apiKeys
    this.sandboxes = session.sandboxes
    this.operations = session.operations
    this.events = session.events
    this.hosts = session.hosts
    this.snapshots = session.snapshots
  }

  async transaction<T>(work: (session: StoreSession) => Promise<T>): Promise<T> {
    const events: PendingEvent[] = []
    const collect = async (appended: readonly PendingEvent[]): Promise<void> => {
      events.push(...appended)
    }
    return await this.#transaction(async (database) => {
      const result = await work(this.#session(database, collect))
      await writeEvents(database, events)
      return result
    }, events)
  }

  async #transaction<T>(work: (database: Database) => Promise<T>, events: readonly PendingEvent[]): Promise<T> {
    const { dialect, query } = this.#parts
    const result = await this.#guard.run(() =>
      query.transaction().execute((inside) => work({ dialect, query: inside })),
    )
    if (events.length > 0) this.#parts.wakeUps.wake()
    return result
  }

  #session(database: Database, publish: (events: readonly PendingEvent[]) => Promise<void>): StoreSession {
    const { sources, wakeUps } = this.#parts
    return {
      tenants: new TenantRepository(database, sources),
      apiKeys: new ApiKeyRepository(database, sources),
      sandboxes: new SandboxRepository(database, sources),
      operations: new OperationRepository(database, sources),
      events: new EventRepository({ database, sources, wakeUps, publish }),
      hosts: new HostRepository(database, sources),
      snapshots: new SnapshotRepository(database, sources),
    }
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
    await this.#parts.listener?.close()
    await this.#parts.query.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
