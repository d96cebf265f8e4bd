import type { Quotas } from '@hearth/contract'
import { ApiKeyRepository } from './access/api-keys.ts'
import { TenantRepository } from './access/tenants.ts'
import type { Database, Sources } from './database/database.ts'
import { EventRepository } from './events/events.ts'
import type { WakeUps } from './events/wake-ups.ts'
import type { PendingEvent } from './events/write-events.ts'
import { HostRepository } from './hosts.ts'
import type { ServerKeys } from './keys.ts'
import { NoteRepository } from './notes/notes.ts'
import { OperationRepository } from './operations/operations.ts'
import type { RunChanges } from './runs/run-changes.ts'
import { RunRepository } from './runs/runs.ts'
import { SandboxRepository } from './sandboxes/sandboxes.ts'
import { SecretRepository } from './secrets/secrets.ts'
import { SnapshotRepository } from './snapshots/snapshots.ts'
import { TemplateBuildRepository } from './templates/template-builds.ts'
import { VolumeRepository } from './volumes/volumes.ts'
import { WebhookRepository } from './webhooks/webhooks.ts'
import { HostKeyTable } from './workspaces/host-keys.ts'
import { RepositoryTable } from './workspaces/repositories.ts'
import { SeedTable } from './workspaces/seeds.ts'
import { WorkspaceTable } from './workspaces/workspaces.ts'

export interface SessionParts {
  readonly sources: Sources
  readonly wakeUps: WakeUps
  readonly runChanges: RunChanges
  readonly keys: ServerKeys | null
  /** Of a new tenant that is given none. */
  readonly quotas: Quotas
}

/** What becomes of events that are appended and of runs that change: at once, or when a transaction is committed. */
export interface SessionEffects {
  readonly publish: (events: readonly PendingEvent[]) => Promise<void>
  readonly changed: (run: string) => void
}

/**
 * Everything that is durable, seen either directly (each call commits by itself) or inside one transaction.
 * Every method throws a `HearthError`; `store_unavailable` and `conflict` are those that a repetition can cure.
 */
export type StoreSession = Readonly<ReturnType<typeof openSession>>

export function openSession(
  database: Database,
  { sources, wakeUps, runChanges: changes, keys, quotas }: SessionParts,
  { publish, changed }: SessionEffects,
) {
  return {
    tenants: new TenantRepository(database, sources, quotas),
    apiKeys: new ApiKeyRepository(database, sources),
    /** Sandboxes. All changes are compare-and-set against a record that was read before. */
    sandboxes: new SandboxRepository(database, sources),
    /** Long work under way, with its leases. */
    operations: new OperationRepository(database, sources),
    /** What happened, for those who follow it. */
    events: new EventRepository({ database, sources, wakeUps, publish, signer: keys?.signer ?? null }),
    hosts: new HostRepository(database, sources),
    /** What the engine's store holds, and whose it is. */
    snapshots: new SnapshotRepository(database, sources),
    /** Directories that outlive sandboxes, and whose they are. */
    volumes: new VolumeRepository(database, sources),
    /** What the gateway puts into requests. */
    secrets: new SecretRepository(database, sources, keys?.box ?? null),
    /** Addresses that are told events. */
    webhooks: new WebhookRepository(database, sources, keys?.box ?? null),
    /** Templates that clients of other vendors build. */
    templateBuilds: new TemplateBuildRepository(database, sources),
    /** What dialects remember of sandboxes. */
    notes: new NoteRepository(database, sources),
    /** Runs of agents. */
    runs: new RunRepository({ database, sources, changes, changed }),
    /** Repositories that are cached on hosts. */
    repositories: new RepositoryTable(database, sources),
    /** Servers of git that tenants speak to with ssh. */
    hostKeys: new HostKeyTable(database, sources),
    /** Checkouts that workspaces are copied from. */
    seeds: new SeedTable(database, sources),
    /** Durable checkouts. */
    workspaces: new WorkspaceTable(database, sources),
  }
}
