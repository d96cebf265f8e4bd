import type { Selectable, Updateable } from 'kysely'
import type {
  Lifetime,
  PullRequestView,
  RepositoryId,
  SandboxId,
  VolumeId,
  WorkspaceId,
  WorkspaceState,
} from '@hearth/contract'
import type { WorkspacesTable } from '../database/workspace-tables.ts'

export interface WorkspaceRecord {
  readonly id: WorkspaceId
  readonly tenantId: string
  readonly hostId: string
  readonly repositoryId: RepositoryId
  /** The checkout that it is compared with; null once its files are gone. */
  readonly seedId: VolumeId | null
  readonly volumeId: VolumeId
  readonly state: WorkspaceState
  readonly branch: string
  readonly base: string
  readonly head: string | null
  readonly pushed: { readonly branch: string; readonly commit: string } | null
  readonly pullRequest: PullRequestView | null
  readonly parentId: WorkspaceId | null
  readonly lifetime: Lifetime
  readonly pinned: boolean
  /** The sandbox that had it last. It has it as long as it lives. */
  readonly sandboxId: SandboxId | null
  readonly diskBytes: number
  readonly createdAt: number
  readonly usedAt: number
  readonly rescued: { readonly bytes: number; readonly at: number } | null
}

export type NewWorkspace = Pick<
  WorkspaceRecord,
  'id' | 'tenantId' | 'hostId' | 'repositoryId' | 'seedId' | 'volumeId' | 'branch' | 'base' | 'lifetime' | 'diskBytes'
> &
  Partial<Pick<WorkspaceRecord, 'parentId' | 'sandboxId' | 'head' | 'pushed' | 'pullRequest'>>

export type WorkspacePatch = Partial<
  Pick<WorkspaceRecord, 'branch' | 'head' | 'pushed' | 'pullRequest' | 'lifetime' | 'pinned' | 'rescued' | 'seedId'>
>

export function jsonOrNull(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

export function encodePatch(patch: WorkspacePatch): Updateable<WorkspacesTable> {
  const { branch, head, pushed, pullRequest, lifetime, pinned, rescued, seedId } = patch
  return {
    ...(branch === undefined ? {} : { branch }),
    ...(head === undefined ? {} : { head }),
    ...(pushed === undefined ? {} : { pushed: jsonOrNull(pushed) }),
    ...(pullRequest === undefined ? {} : { pull_request: jsonOrNull(pullRequest) }),
    ...(lifetime === undefined ? {} : { lifetime }),
    ...(pinned === undefined ? {} : { pinned: pinned ? 1 : 0 }),
    ...(rescued === undefined ? {} : { rescued: jsonOrNull(rescued) }),
    ...(seedId === undefined ? {} : { seed_id: seedId }),
  }
}

export function decodeWorkspace(row: Selectable<WorkspacesTable>): WorkspaceRecord {
  const parse = <Value>(text: string | null): Value | null => (text === null ? null : (JSON.parse(text) as Value))
  return {
    id: row.id as WorkspaceId,
    tenantId: row.tenant_id,
    hostId: row.host_id,
    repositoryId: row.repository_id as RepositoryId,
    seedId: row.seed_id as VolumeId | null,
    volumeId: row.volume_id as VolumeId,
    state: row.state,
    branch: row.branch,
    base: row.base,
    head: row.head,
    pushed: parse(row.pushed),
    pullRequest: parse(row.pull_request),
    parentId: row.parent_id as WorkspaceId | null,
    lifetime: row.lifetime,
    pinned: row.pinned === 1,
    sandboxId: row.sandbox_id as SandboxId | null,
    diskBytes: row.disk_bytes,
    createdAt: row.created_at,
    usedAt: row.used_at,
    rescued: parse(row.rescued),
  }
}
