import type { Selectable } from 'kysely'
import type { Lifetime, SandboxId, VolumeId, WorkspaceId } from '@hearth/contract'
import type { VolumesTable } from '../database/tables.ts'

/** `lost`: its files are not in the store of its host, where they must be. */
export type VolumeState = VolumesTable['state']

/**
 * Every change of state that there is. One that cannot be removed after all is there again; one whose files come back, since the store
 * was not there for a while, too.
 */
export const VOLUME_TRANSITIONS: Readonly<Record<VolumeState, readonly VolumeState[]>> = {
  creating: ['ready', 'deleting'],
  ready: ['lost', 'deleting'],
  lost: ['ready', 'deleting'],
  deleting: ['ready'],
}

/** What the control plane knows of one volume. */
export interface VolumeRecord {
  readonly id: VolumeId
  readonly tenantId: string
  readonly hostId: string
  readonly state: VolumeState
  readonly name: string | null
  readonly lifetime: Lifetime
  /** Of one with the lifetime of a sandbox: which. */
  readonly sandboxId: SandboxId | null
  /** The workspace whose files it holds, and which makes and removes it; null for one that is a volume alone. */
  readonly workspaceId: WorkspaceId | null
  readonly diskBytes: number
  readonly createdAt: number
}

/** One that is being made. */
export interface NewVolume {
  readonly id: VolumeId
  readonly tenantId: string
  readonly hostId: string
  readonly name?: string | null
  /** Default: it is durable. */
  readonly sandboxId?: SandboxId | null
  readonly workspaceId?: WorkspaceId | null
  readonly diskBytes: number
}

export function decodeVolume(row: Selectable<VolumesTable>): VolumeRecord {
  return {
    id: row.id as VolumeId,
    tenantId: row.tenant_id,
    hostId: row.host_id,
    state: row.state,
    name: row.name,
    lifetime: row.lifetime,
    sandboxId: row.sandbox_id as SandboxId | null,
    workspaceId: row.workspace_id as WorkspaceId | null,
    diskBytes: row.disk_bytes,
    createdAt: row.created_at,
  }
}
