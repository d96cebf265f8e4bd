import type { Insertable, Selectable } from 'kysely'
import type {
  CreateFrom,
  GrantRequest,
  RecordOptions,
  IdleAction,
  Limits,
  MemoryOutcome,
  Rung,
  SandboxId,
  SandboxState,
  SnapshotId,
} from '@hearth/contract'
import type { SandboxesTable } from '../database/tables.ts'

/** What was asked for, and what of it is the server's own business. */
export interface StoredSpec extends CreateFrom {
  readonly record?: RecordOptions | undefined
  /** It has a key of its own. */
  readonly delegate?: GrantRequest | undefined
}

/** What the control plane knows of one sandbox. Times are milliseconds since 1970. */
export interface SandboxRecord {
  readonly id: SandboxId
  readonly tenantId: string
  readonly state: SandboxState
  readonly rung: Rung
  /** What implements the rung, for example `crun 1.8.1`. */
  readonly driver: string
  readonly template: string
  /** What was asked for. */
  readonly spec: StoredSpec
  /** What is in force. */
  readonly limits: Limits
  readonly metadata: Readonly<Record<string, string>>
  readonly createdAt: number
  /** The deadline; null only for a persistent sandbox. */
  readonly expiresAt: number | null
  /** After this long without activity `idleAction` is taken. Null: never. */
  readonly idleMs: number | null
  readonly idleAction: IdleAction | null
  readonly persistent: boolean
  /** The sandbox that this one was forked from. */
  readonly parentId: SandboxId | null
  /** The snapshot that it was made of, or the point at which it was forked. */
  readonly originId: SnapshotId | null
  readonly hostId: string | null
  /** While it is hibernated: whether its processes go on when it wakes, or why not. */
  readonly hibernation: MemoryOutcome | null
  /** Of one that was made of a snapshot or forked: whether the processes that were captured go on in it, or why not. */
  readonly restored: MemoryOutcome | null
  readonly lastActiveAt: number
  readonly endedAt: number | null
  readonly endReason: string | null
  /** The path of the delegated key that it was made with; null for one that was made with another. It ends with that key. */
  readonly holder: string | null
  /** Counts the changes: what a compare-and-set compares. Activity does not count. */
  readonly version: number
}

/** A sandbox that begins its life, in the state `creating`. */
export interface NewSandbox {
  /** Default: a new one. Identifiers are never taken from a client, and one that was ever used is refused. */
  readonly id?: SandboxId
  readonly tenantId: string
  readonly rung: Rung
  readonly driver: string
  readonly template: string
  readonly spec: StoredSpec
  readonly limits: Limits
  readonly metadata?: Readonly<Record<string, string>>
  /** Null is a persistent sandbox: `persistent` follows from it. */
  readonly expiresAt: number | null
  readonly idle?: { readonly ms: number; readonly action: IdleAction } | null
  readonly parentId?: SandboxId | null
  readonly originId?: SnapshotId | null
  readonly hostId?: string | null
  readonly holder?: string | null
}

/** What may change beside the state. A field that is left out stays. */
export interface SandboxPatch {
  readonly spec?: StoredSpec
  readonly originId?: SnapshotId | null
  readonly rung?: Rung
  readonly driver?: string
  readonly template?: string
  readonly limits?: Limits
  readonly expiresAt?: number | null
  readonly idle?: { readonly ms: number; readonly action: IdleAction } | null
  readonly hostId?: string | null
  readonly hibernation?: MemoryOutcome | null
  readonly restored?: MemoryOutcome | null
  readonly lastActiveAt?: number
  readonly endedAt?: number | null
  readonly endReason?: string | null
}

export function decodeSandbox(row: Selectable<SandboxesTable>): SandboxRecord {
  return {
    id: row.id as SandboxId,
    tenantId: row.tenant_id,
    state: row.state,
    rung: row.rung,
    driver: row.driver,
    template: row.template,
    spec: JSON.parse(row.spec) as StoredSpec,
    limits: JSON.parse(row.limits) as Limits,
    metadata: row.metadata === '{}' ? {} : (JSON.parse(row.metadata) as Record<string, string>),
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    idleMs: row.idle_ms,
    idleAction: row.idle_action,
    persistent: row.persistent === 1,
    parentId: row.parent_id as SandboxId | null,
    originId: row.origin_id as SnapshotId | null,
    hostId: row.host_id,
    hibernation: row.hibernation === null ? null : (JSON.parse(row.hibernation) as MemoryOutcome),
    restored: row.restored === null ? null : (JSON.parse(row.restored) as MemoryOutcome),
    lastActiveAt: row.last_active_at,
    endedAt: row.ended_at,
    endReason: row.end_reason,
    holder: row.holder,
    version: row.version,
  }
}

export function encodeNewSandbox(input: NewSandbox, id: string, now: number): Insertable<SandboxesTable> {
  return {
    id,
    tenant_id: input.tenantId,
    state: 'creating',
    rung: input.rung,
    driver: input.driver,
    template: input.template,
    spec: JSON.stringify(input.spec),
    metadata: JSON.stringify(input.metadata ?? {}),
    ...encodeLimits(input.limits),
    created_at: now,
    ...encodeDeadline(input.expiresAt),
    ...encodeIdle(input.idle ?? null),
    parent_id: input.parentId ?? null,
    origin_id: input.originId ?? null,
    host_id: input.hostId ?? null,
    hibernation: null,
    restored: null,
    last_active_at: now,
    ended_at: null,
    end_reason: null,
    version: 1,
    holder: input.holder ?? null,
  }
}

export function encodePatch(patch: SandboxPatch): Partial<Insertable<SandboxesTable>> {
  const { originId, rung, driver, template, limits, expiresAt, idle, hostId, hibernation } = patch
  const { restored, lastActiveAt, endedAt, endReason } = patch
  return {
    ...(patch.spec === undefined ? {} : { spec: JSON.stringify(patch.spec) }),
    ...(originId === undefined ? {} : { origin_id: originId }),
    ...(rung === undefined ? {} : { rung }),
    ...(driver === undefined ? {} : { driver }),
    ...(template === undefined ? {} : { template }),
    ...(limits === undefined ? {} : encodeLimits(limits)),
    ...(expiresAt === undefined ? {} : encodeDeadline(expiresAt)),
    ...(idle === undefined ? {} : encodeIdle(idle)),
    ...(hostId === undefined ? {} : { host_id: hostId }),
    ...(hibernation === undefined ? {} : { hibernation: hibernation && JSON.stringify(hibernation) }),
    ...(restored === undefined ? {} : { restored: restored && JSON.stringify(restored) }),
    ...(lastActiveAt === undefined ? {} : { last_active_at: lastActiveAt }),
    ...(endedAt === undefined ? {} : { ended_at: endedAt }),
    ...(endReason === undefined ? {} : { end_reason: endReason }),
  }
}

function encodeLimits(limits: Limits) {
  return {
    limits: JSON.stringify(limits),
    cpus: limits.cpus,
    memory_bytes: limits.memoryBytes,
    disk_bytes: limits.diskBytes,
  }
}

function encodeDeadline(expiresAt: number | null) {
  return { expires_at: expiresAt, persistent: expiresAt === null ? 1 : 0 }
}

function encodeIdle(idle: NonNullable<NewSandbox['idle']> | null) {
  return { idle_ms: idle?.ms ?? null, idle_action: idle?.action ?? null }
}
