import { HearthError, type Rung, type SandboxId, type SandboxState, type SnapshotId } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { isBelowPath } from '../access/key-path.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import { decodeSandbox, type SandboxRecord } from './sandbox-record.ts'

/** More pairs than this in one filter are refused: each is a search of its own. */
const MAXIMUM_METADATA_FILTERS = 16

/** All that are given must hold. */
export interface SandboxFilter {
  /** Left out only where the server itself looks at all tenants. */
  readonly tenantId?: string
  readonly states?: readonly SandboxState[]
  readonly rungs?: readonly Rung[]
  /** Every pair must be among the sandbox's own. */
  readonly metadata?: Readonly<Record<string, string>>
  readonly parentId?: SandboxId
  readonly originId?: SnapshotId
  readonly hostId?: string
  /** Made with the delegated key of this path, or with one below it. */
  readonly below?: string
}

export interface ListOptions extends SandboxFilter, PageOptions {}

export async function listSandboxes(database: Database, options: ListOptions): Promise<Page<SandboxRecord>> {
  // A list of no states has no rows; Postgres has no syntax for it.
  if (options.states?.length === 0 || options.rungs?.length === 0) return { items: [], next: null }
  return await newestFirst(filtered(database, options), options, decodeSandbox)
}

function filtered(database: Database, filter: SandboxFilter) {
  const { tenantId, states, rungs, parentId, originId, hostId, below } = filter
  let query = database.query.selectFrom('sandboxes').selectAll().where('state', '!=', 'deleted')
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
  if (states !== undefined) query = query.where('state', 'in', [...states])
  if (rungs !== undefined) query = query.where('rung', 'in', [...rungs])
  if (parentId !== undefined) query = query.where('parent_id', '=', parentId)
  if (originId !== undefined) query = query.where('origin_id', '=', originId)
  if (hostId !== undefined) query = query.where('host_id', '=', hostId)
  if (below !== undefined) query = query.where(isBelowPath('holder', below))
  for (const [key, value] of metadataPairs(filter)) {
    query = query.where('id', 'in', (select) =>
      select.selectFrom('sandbox_metadata').select('sandbox_id').where('key', '=', key).where('value', '=', value),
    )
  }
  return query
}

function metadataPairs(filter: SandboxFilter): [string, string][] {
  const pairs = Object.entries(filter.metadata ?? {})
  if (pairs.length > MAXIMUM_METADATA_FILTERS) {
    throw new HearthError('invalid_request', `metadata: at most ${MAXIMUM_METADATA_FILTERS} pairs in a filter`)
  }
  return pairs
}
