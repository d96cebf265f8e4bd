import type { ApiKeyRepository } from './access/api-keys.ts'
import type { TenantRepository } from './access/tenants.ts'
import type { DialectName } from './database/database.ts'
import type { EventRepository } from './events/events.ts'
import type { HostRepository } from './hosts.ts'
import type { OperationRepository } from './operations/operations.ts'
import type { RunRepository } from './runs/runs.ts'
import type { SandboxRepository } from './sandboxes/sandboxes.ts'
import type { SecretRepository } from './secrets/secrets.ts'
import type { SnapshotRepository } from './snapshots/snapshots.ts'
import type { TemplateBuildRepository } from './templates/template-builds.ts'
import type { VolumeRepository } from './volumes/volumes.ts'
import type { WebhookRepository } from './webhooks/webhooks.ts'
import type { RepositoryTable } from './workspaces/repositories.ts'
import type { SeedTable } from './workspaces/seeds.ts'
import type { WorkspaceTable } from './workspaces/workspaces.ts'

/**
 * Everything that is durable, seen either directly (each call commits by itself) or inside one transaction.
 * Every method throws a `HearthError`; `store_unavailable` and `conflict` are those that a repetition can cure.
 */
export interface StoreSession {
  readonly tenants: TenantRepository
  readonly apiKeys: ApiKeyRepository
  /** Sandboxes. All changes are compare-and-set against a record that was read before. */
  readonly sandboxes: SandboxRepository
  /** Long work under way, with its leases. */
  readonly operations: OperationRepository
  /** What happened, for those who follow it. */
  readonly events: EventRepository
  readonly hosts: HostRepository
  /** What the engine's store holds, and whose it is. */
  readonly snapshots: SnapshotRepository
  /** Directories that outlive sandboxes, and whose they are. */
  readonly volumes: VolumeRepository
  /** What the gateway puts into requests. */
  readonly secrets: SecretRepository
  /** Addresses that are told events. */
  readonly webhooks: WebhookRepository
  /** Templates that clients of other vendors build. */
  readonly templateBuilds: TemplateBuildRepository
  /** Runs of agents. */
  readonly runs: RunRepository
  /** Repositories that are cached on hosts. */
  readonly repositories: RepositoryTable
  /** Checkouts that workspaces are copied of. */
  readonly seeds: SeedTable
  /** Durable checkouts. */
  readonly workspaces: WorkspaceTable
}

/** The durable state of one control plane. Any number of processes may have the same database open. */
export interface Store extends StoreSession, AsyncDisposable {
  readonly dialect: DialectName
  /**
   * All of it or nothing. Inside, use the session that is given and nothing else of this store: a call on the store itself would
   * wait for the transaction that waits for it, and is refused. Do no other work than that of the database in it: on SQLite
   * every other caller waits until it ends.
   *
   * A change and the event that tells it belong in one transaction:
   * ```ts
   * const paused = await store.transaction(async (session) => {
   *   const record = await session.sandboxes.transition(pausing, 'paused')
   *   await session.operations.finish(lease, 'done')
   *   await session.events.append({ tenantId: record.tenantId, sandboxId: record.id, type: 'sandbox.paused' })
   *   return record
   * })
   * ```
   */
  transaction<T>(work: (session: StoreSession) => Promise<T>): Promise<T>
  /** Resolves when the database answers: for readiness. */
  ping(): Promise<void>
  /** Ends all connections. Idempotent. Those who follow events come to their end. */
  close(): Promise<void>
}
