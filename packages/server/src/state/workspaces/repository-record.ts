import type { Selectable } from 'kysely'
import type { Forge, RepositoryId, RepositoryState } from '@hearth/contract'
import type { RepositoriesTable } from '../database/workspace-tables.ts'

/** Where it is, and what opens it. */
export interface RepositoryLocation {
  readonly url: string | null
  readonly path: string | null
  readonly secret: string | null
  readonly forge: Forge | null
  /** With which pull requests are made; null for the same secret. */
  readonly forgeSecret: string | null
  /** An operator made it known: it may be in a private network. */
  readonly anywhere: boolean
}

export interface RepositoryRecord extends RepositoryLocation {
  readonly id: RepositoryId
  readonly tenantId: string
  readonly hostId: string
  readonly state: RepositoryState
  readonly defaultBranch: string | null
  readonly bytes: number
  readonly createdAt: number
  readonly fetchedAt: number | null
  readonly usedAt: number
  readonly reason: string | null
}

export interface NewRepository {
  readonly id: RepositoryId
  readonly tenantId: string
  readonly hostId: string
  readonly location: RepositoryLocation
}

export function decodeRepository(row: Selectable<RepositoriesTable>): RepositoryRecord {
  return {
    // Those that were written down before there was one have none.
    forgeSecret: null,
    ...(JSON.parse(row.location) as Omit<RepositoryLocation, 'forgeSecret'>),
    id: row.id as RepositoryId,
    tenantId: row.tenant_id,
    hostId: row.host_id,
    state: row.state,
    defaultBranch: row.default_branch,
    bytes: row.bytes,
    createdAt: row.created_at,
    fetchedAt: row.fetched_at,
    usedAt: row.used_at,
    reason: row.reason,
  }
}

/** What is said of a repository that is known already. Who names its address alone means the one that there is, with what opens it. */
export function mergedLocation(known: RepositoryLocation, said: RepositoryLocation): RepositoryLocation {
  return {
    url: said.url,
    path: said.path,
    secret: said.secret ?? known.secret,
    forge: said.forge ?? known.forge,
    forgeSecret: said.forgeSecret ?? known.forgeSecret,
    anywhere: said.anywhere || known.anywhere,
  }
}
