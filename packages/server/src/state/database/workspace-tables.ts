import type { Lifetime, RepositoryState, WorkspaceState } from '@hearth/contract'

export interface RepositoriesTable {
  id: string
  tenant_id: string
  host_id: string
  state: RepositoryState
  /** A URL or a path: what makes it the same one. */
  address: string
  /** How it was made known, as JSON. */
  location: string
  default_branch: string | null
  bytes: number
  created_at: number
  fetched_at: number | null
  used_at: number
  reason: string | null
}

/** Checkouts of one commit that workspaces are copied of. The identifier is that of their volume. */
export interface SeedsTable {
  id: string
  repository_id: string
  host_id: string
  base: string
  state: 'making' | 'ready' | 'deleting'
  created_at: number
  used_at: number
}

export interface WorkspacesTable {
  id: string
  tenant_id: string
  host_id: string
  repository_id: string
  /** What it is compared with. */
  seed_id: string | null
  volume_id: string
  state: WorkspaceState
  branch: string
  base: string
  head: string | null
  /** JSON, as `pull_request` and `rescued` are. */
  pushed: string | null
  pull_request: string | null
  parent_id: string | null
  lifetime: Lifetime
  pinned: number
  /** Counts as long as that sandbox lives. */
  sandbox_id: string | null
  disk_bytes: number
  created_at: number
  used_at: number
  rescued: string | null
}

/** One of each server and tenant. */
export interface HostKeysTable {
  id: string
  tenant_id: string
  host: string
  host_key: string
  created_at: number
}

/** Of repositories and workspaces. */
export interface WorkspaceTables {
  repositories: RepositoriesTable
  seeds: SeedsTable
  workspaces: WorkspacesTable
  ssh_host_keys: HostKeysTable
}
