import type { Generated } from 'kysely'
import type { IdleAction, Lifetime, Scope, Rung, RunMessageKind, RunState, SandboxState } from '@hearth/contract'
import type { SandboxNotesTable } from './note-table.ts'
import type { WorkspaceTables } from './workspace-tables.ts'
import type { DelegationColumns } from './delegation-columns.ts'

/**
 * Every table, once, for both databases. Times are milliseconds since 1970 (`bigint` columns, decoded to numbers on both),
 * JSON is text, flags are 0 or 1. `Json<T>` is that text: only the code beside each repository encodes and decodes it.
 */
export type Json<T> = string & { readonly __json?: T }

export interface TenantsTable {
  id: string
  name: string
  quotas: Json<Record<string, number>>
  created_at: number
}

export interface ApiKeysTable extends DelegationColumns {
  id: string
  tenant_id: string
  name: string
  /** SHA-256 of the secret, in hex. The secret itself is nowhere. */
  secret_hash: string
  /** The first characters of the key, for people to recognise it. */
  prefix: string
  scopes: Json<readonly Scope[]>
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
}

export interface SandboxesTable {
  id: string
  tenant_id: string
  state: SandboxState
  rung: Rung
  driver: string
  template: string
  spec: Json<unknown>
  limits: Json<unknown>
  metadata: Json<Record<string, string>>
  /** The three limits that quotas add up, out of `limits`. */
  cpus: number
  memory_bytes: number
  disk_bytes: number
  created_at: number
  expires_at: number | null
  idle_ms: number | null
  idle_action: IdleAction | null
  persistent: number
  parent_id: string | null
  origin_id: string | null
  host_id: string | null
  /** While it is hibernated, and of one that was made of a snapshot: whether processes go on, or why not. */
  hibernation: Json<unknown> | null
  restored: Json<unknown> | null
  last_active_at: number
  ended_at: number | null
  end_reason: string | null
  version: number
  holder: string | null
}

/** One row for each pair of `sandboxes.metadata`: what filters search. */
export interface SandboxMetadataTable {
  sandbox_id: string
  key: string
  value: string
}

export interface OperationsTable {
  id: string
  tenant_id: string
  sandbox_id: string | null
  kind: string
  state: 'pending' | 'running' | 'done' | 'failed' | 'undone'
  owner: string | null
  /** While running: until when the owner has it. While pending: not to be claimed before this. */
  lease_until: number | null
  attempts: number
  step: string | null
  idempotency_key: string | null
  request_hash: string
  request: Json<unknown>
  result: Json<unknown> | null
  error: Json<unknown> | null
  created_at: number
  updated_at: number
}

export interface EventsTable {
  seq: number
  tenant_id: string
  sandbox_id: string | null
  at: number
  type: string
  data: Json<unknown>
  /** Of this event and all before it of its sandbox; null without a sandbox, and for those from before there were hashes. */
  hash: string | null
}

/** The end of the chain of hashes of one sandbox. */
export interface EventChainsTable {
  sandbox_id: string
  tenant_id: string
  length: number
  seq: number
  hash: string
  signature: string | null
  public_key: string | null
  /** The number of the last event when a head was found that this server had not signed. */
  broken_at: number | null
}

/** One row. Its lock is held until commit, so that sequence numbers become visible in their order and without gaps. */
export interface EventSequenceTable {
  id: number
  value: number
}

/** What retention took away: per sandbox, and for the whole tenant with an empty `sandbox_id`. */
export interface EventDropsTable {
  tenant_id: string
  sandbox_id: string
  through: number
  count: number
  /** How many of them had a hash, and the hash of the last. */
  chained: number
  hash: string | null
}

export interface SecretsTable {
  tenant_id: string
  name: string
  binding: Json<unknown>
  /** Encrypted and authenticated together with whose it is, its name and its binding. */
  sealed: string
  /** Says which key it was sealed with. */
  key_id: string
  created_at: number
  updated_at: number
}

export interface WebhooksTable {
  id: string
  tenant_id: string
  name: string
  url: string
  events: Json<readonly string[]>
  enabled: number
  /** The secret of its signatures, encrypted and authenticated together with whose it is. */
  sealed: string
  key_id: string
  created_at: number
  updated_at: number
  /** Up to this event nothing is left to be told. */
  told: number
  refusals: Generated<number>
  failures: Generated<number>
  failure: string | null
  delivered_at: number | null
  next_at: Generated<number>
  owner: string | null
  lease_until: Generated<number>
}

export interface TemplateBuildsTable {
  id: string
  tenant_id: string
  name: string
  tags: Json<readonly string[]>
  limits: Json<unknown>
  user: string | null
  state: 'waiting' | 'building' | 'ready' | 'error'
  snapshot_id: string | null
  sandbox_id: string | null
  reason: Json<unknown> | null
  /** 1 for a snapshot that was taken, not built. */
  adopted: Generated<number>
  created_at: number
  updated_at: number
}

export interface RunsTable {
  tenant_id: string
  id: string
  /** What never changes. */
  given: Json<unknown>
  parent_id: string | null
  sandbox_id: string | null
  state: RunState
  /** The sum of its events. */
  progress: Json<unknown>
  /** Who works on it; null when it was given back. */
  owner: string | null
  /** Grows with each who takes it: what an earlier one writes is refused. */
  lease: number
  lease_until: number
  events: Generated<number>
  bytes: Generated<number>
  messages: Generated<number>
  created_at: number
  updated_at: number
}

/** One row for each pair of a run's metadata, as JSON: what filters search. */
export interface RunLabelsTable {
  tenant_id: string
  run_id: string
  label: Json<readonly [string, string]>
}

export interface RunEventsTable {
  tenant_id: string
  run_id: string
  seq: number
  bytes: number
  event: Json<unknown>
}

export interface RunMessagesTable {
  tenant_id: string
  run_id: string
  number: number
  kind: RunMessageKind
  text: Json<string>
  at: number
}

export interface SnapshotsTable {
  id: string
  tenant_id: string
  sandbox_id: string | null
  parent_id: string | null
  /** What it takes; until that is known, what it may take at most. */
  bytes: number
  /** What is told of it; empty until it is ready. */
  manifest: Json<unknown>
  created_at: number
  /** One in a tenant alone. */
  name: string | null
  state: 'creating' | 'importing' | 'ready' | 'deleting'
  host_id: string | null
}

export interface VolumesTable {
  id: string
  tenant_id: string
  host_id: string
  state: 'creating' | 'ready' | 'lost' | 'deleting'
  /** One in a tenant alone. */
  name: string | null
  lifetime: Lifetime
  /** Of one with the lifetime of a sandbox: which. */
  sandbox_id: string | null
  /** The workspace whose files it holds. */
  workspace_id: string | null
  /** What it may hold. */
  disk_bytes: number
  created_at: number
}

export interface HostsTable {
  id: string
  url: string | null
  started_at: number
  heartbeat_at: number
}

export interface Tables extends WorkspaceTables {
  tenants: TenantsTable
  api_keys: ApiKeysTable
  sandboxes: SandboxesTable
  sandbox_metadata: SandboxMetadataTable
  operations: OperationsTable
  events: EventsTable
  event_sequence: EventSequenceTable
  event_drops: EventDropsTable
  event_chains: EventChainsTable
  secrets: SecretsTable
  webhooks: WebhooksTable
  template_builds: TemplateBuildsTable
  sandbox_notes: SandboxNotesTable
  runs: RunsTable
  run_labels: RunLabelsTable
  run_events: RunEventsTable
  run_messages: RunMessagesTable
  snapshots: SnapshotsTable
  volumes: VolumesTable
  hosts: HostsTable
}
