export { openStore, type OpenStoreOptions } from './open-store.ts'
export type { StoreSession } from './session.ts'
export type { Store } from './store.ts'
export type { DialectName, Sources } from './database/database.ts'
export { everyItem, type PageOptions } from './database/page.ts'
export * from './lifecycle.ts'
export type { Tenant, TenantRepository } from './access/tenants.ts'
export type { ApiKey, ApiKeyRepository, DelegatedKey, NewApiKey } from './access/api-keys.ts'
export type { SandboxVersion } from './sandboxes/compare-and-set.ts'
export type { NewSandbox, SandboxPatch, SandboxRecord, StoredSpec } from './sandboxes/sandbox-record.ts'
export type { ListOptions, SandboxFilter } from './sandboxes/sandbox-list.ts'
export type { SandboxRepository } from './sandboxes/sandboxes.ts'
export { requireHoldings, type Holdings } from './sandboxes/holdings.ts'
export {
  createWithinQuota,
  requireQuota,
  snapshotWithinQuota,
  volumeWithinQuota,
  type Usage,
} from './sandboxes/usage.ts'
export type { NewSnapshot, SnapshotRecord, SnapshotState } from './snapshots/snapshot-record.ts'
export type { SnapshotRepository } from './snapshots/snapshots.ts'
export { VOLUME_TRANSITIONS, type NewVolume, type VolumeRecord, type VolumeState } from './volumes/volume-record.ts'
export type { VolumeRepository } from './volumes/volumes.ts'
export type { ClaimOptions } from './operations/claim.ts'
export {
  stepText,
  type Lease,
  type Operation,
  type OperationEnd,
  type OperationState,
} from './operations/operation-record.ts'
export type { Begun, NewOperation, OperationRepository } from './operations/operations.ts'
export type { EventFilter, EventPage, NewEvent, StoredEvent } from './events/event-record.ts'
export { EVENT_LIMIT, type EventRepository, type EventsQuery, type FollowOptions } from './events/events.ts'
export { DEFAULT_RETENTION, type DroppedEvents, type Retention } from './events/retention.ts'
export { publicView } from './events/event-record.ts'
export { deriveKeys, serverKey, type ServerKeys } from './keys.ts'
export type { SecretRepository, StoredSecret } from './secrets/secrets.ts'
export type { ClaimedWebhook, DueWebhook, NewWebhook, Webhook, WebhookProgress } from './webhooks/webhook-record.ts'
export { MOST_WEBHOOKS, type WebhookRepository } from './webhooks/webhooks.ts'
export type { NewTemplateBuild, TemplateBuild } from './templates/template-build-record.ts'
export { ABANDONED_MS, type TemplateBuildRepository } from './templates/template-builds.ts'
export type { Note, NoteKind, NoteRepository } from './notes/notes.ts'
export type { NewRun } from './runs/run-record.ts'
export type { RunRepository } from './runs/runs.ts'
export type { Host, HostRepository } from './hosts.ts'
export { canRepositoryBecome, canWorkspaceBecome } from './workspaces/states.ts'
export type { NewRepository, RepositoryLocation, RepositoryRecord } from './workspaces/repository-record.ts'
export type { PinnedHostKey } from './workspaces/host-keys.ts'
export type { RepositoryTable } from './workspaces/repositories.ts'
export type { SeedRecord, SeedTable } from './workspaces/seeds.ts'
export type { NewWorkspace, WorkspacePatch, WorkspaceRecord } from './workspaces/workspace-record.ts'
export { forgetWorkspace, workspaceReady, workspaceWithinQuota, type WorkspaceTable } from './workspaces/workspaces.ts'
