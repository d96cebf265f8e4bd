import { sql, type Kysely } from 'kysely'
import { ApiKeyRepository } from './access/api-keys.ts'
import { TenantRepository } from './access/tenants.ts'
import type { Database, DialectName, Sources } from './database/database.ts'
import type { Tables } from './database/tables.ts'
import { EventRepository } from './events/events.ts'
import type { PostgresListener } from './events/postgres-listener.ts'
import type { WakeUps } from './events/wake-ups.ts'
import type { StoredEvent } from './events/event-record.ts'
import { writeEvents, type PendingEvent, type WrittenEvents } from './events/write-events.ts'
import { HostRepository } from './hosts.ts'
import { OperationRepository } from './operations/operations.ts'
import type { RunChanges } from './runs/run-changes.ts'
import { RunRepository } from './runs/runs.ts'
import { SandboxRepository } from './sandboxes/sandboxes.ts'
import type { ServerKeys } from './keys.ts'
import { SecretRepository } from './secrets/secrets.ts'
import { SnapshotRepository } from './snapshots/snapshots.ts'
import type { Store, StoreSession } from './store.ts'
import { TemplateBuildRepository } from './templates/template-builds.ts'
import { VolumeRepository } from './volumes/volumes.ts'
import { WebhookRepository } from './webhooks/webhooks.ts'
import { RepositoryTable } from './workspaces/repositories.ts'
import { SeedTable } from './workspaces/seeds.ts'
import { WorkspaceTable } from './workspaces/workspaces.ts'
import { TransactionGuard } from './transaction-guard.ts'

export interface DatabaseStoreParts {
  readonly dialect: DialectName
  readonly query: Kysely<Tables>
  readonly sources: Sources
  readonly wakeUps: WakeUps
  readonly runChanges: RunChanges
  readonly listener: PostgresListener | null
  readonly keys: ServerKeys | null
  readonly onEvents: (events: readonly StoredEvent[]) => void
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
  readonly volumes: VolumeRepository
  readonly secrets: SecretRepository
  readonly webhooks: WebhookRepository
  readonly templateBuilds: TemplateBuildRepository
  readonly runs: RunRepository
  readonly repositories: RepositoryTable
  readonly seeds: SeedTable
  readonly workspaces: WorkspaceTable
  readonly #parts: DatabaseStoreParts
  readonly #guard = new TransactionGuard()
  #closing: Promise<void> | null = null

  constructor(parts: DatabaseStoreParts) {
    this.#parts = parts
    this.dialect = parts.dialect
    const database = { dialect: parts.dialect, query: parts.query.withPlugin(this.#guard) }
    const session = this.#session(
      database,
      (events) => this.#transaction(async () => undefined, events),
      (run) => parts.runChanges.wake(run),
    )
    this.tenants = session.tenants
    this.apiKeys = session.apiKeys
    this.sandboxes = session.sandboxes
    this.operations = session.operations
    this.events = session.events
    this.hosts = session.hosts
    this.snapshots = session.snapshots
    this.volumes = session.volumes
    this.secrets = session.secrets
    this.webhooks = session.webhooks
    this.templateBuilds = session.templateBuilds
    this.runs = session.runs
    this.repositories = session.repositories
    this.seeds = session.seeds
    this.workspaces = session.workspaces
  }

  async transaction<T>(work: (session: StoreSession) => Promise<T>): Promise<T> {
    const events: PendingEvent[] = []
    const collect = async (appended: readonly PendingEvent[]): Promise<void> => {
      events.push(...appended)
    }
    const runs = new Set<string>()
    const result = await this.#transaction(
      (database) => work(this.#session(database, collect, (run) => runs.add(run))),
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

  #session(
    database: Database,
    publish: (events: readonly PendingEvent[]) => Promise<void>,
    changed: (run: string) => void,
  ): StoreSession {
    const { sources, wakeUps, keys, runChanges: changes } = this.#parts
    return {
      tenants: new TenantRepository(database, sources),
      apiKeys: new ApiKeyRepository(database, sources),
      sandboxes: new SandboxRepository(database, sources),
      operations: new OperationRepository(database, sources),
      events: new EventRepository({ database, sources, wakeUps, publish, signer: keys?.signer ?? null }),
      hosts: new HostRepository(database, sources),
      snapshots: new SnapshotRepository(database, sources),
      volumes: new VolumeRepository(database, sources),
      secrets: new SecretRepository(database, sources, keys?.box ?? null),
      webhooks: new WebhookRepository(database, sources, keys?.box ?? null),
      templateBuilds: new TemplateBuildRepository(database, sources),
      runs: new RunRepository({ database, sources, changes, changed }),
      repositories: new RepositoryTable(database, sources),
      seeds: new SeedTable(database, sources),
      workspaces: new WorkspaceTable(database, sources),
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
    this.#parts.runChanges.close()
    await this.#parts.listener?.close()
    await this.#parts.query.destroy()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
