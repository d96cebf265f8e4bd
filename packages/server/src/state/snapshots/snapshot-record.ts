import type { Selectable } from 'kysely'
import type { SandboxId, SnapshotId, SnapshotInfo } from '@hearth/contract'
import type { SnapshotsTable } from '../database/tables.ts'

/** Only one that is `ready` is shown to anybody. */
export type SnapshotState = SnapshotsTable['state']

/** What the control plane knows of one snapshot. */
export interface SnapshotRecord {
  readonly id: SnapshotId
  readonly tenantId: string
  readonly hostId: string | null
  readonly state: SnapshotState
  /** Names belong to the tenant: in the engine's own store it has none. */
  readonly name: string | null
  readonly sandboxId: SandboxId | null
  readonly bytes: number
  /** Null until it is made. */
  readonly info: SnapshotInfo | null
  readonly createdAt: number
}

export interface NewSnapshot {
  readonly id: SnapshotId
  readonly tenantId: string
  readonly hostId: string
  readonly state: 'creating' | 'importing'
  readonly name: string | null
  readonly sandboxId: SandboxId | null
  /** What it may take at most, as far as that is known. */
  readonly bytes: number
}

export function decodeSnapshot(row: Selectable<SnapshotsTable>): SnapshotRecord {
  return {
    id: row.id as SnapshotId,
    tenantId: row.tenant_id,
    hostId: row.host_id,
    state: row.state,
    name: row.name,
    sandboxId: row.sandbox_id as SandboxId | null,
    bytes: row.bytes,
    info: row.manifest === '{}' ? null : decodeInfo(row),
    createdAt: row.created_at,
  }
}

function decodeInfo(row: Selectable<SnapshotsTable>): SnapshotInfo {
  const info = JSON.parse(row.manifest) as Omit<SnapshotInfo, 'createdAt' | 'name'> & { createdAt: string }
  return { ...info, name: row.name, createdAt: new Date(info.createdAt) }
}
