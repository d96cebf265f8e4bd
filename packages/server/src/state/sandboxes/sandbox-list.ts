import { HearthError, type Rung, type SandboxId, type SandboxState, type SnapshotId } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { isBelowPath } from '../access/key-path.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { decodeSandbox, type SandboxRecord } from './sandbox-record.ts'

export const LIST_LIMIT = { default: 100, maximum: 1000 } as const

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

export interface ListOptions extends SandboxFilter {
  /** 1 to 1000, default 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface SandboxPage {
  /** Newest first. */
  readonly sandboxes: readonly SandboxRecord[]
  /** Null on the last page. */
  readonly next: string | null
}

export async function listSandboxes(database: Database, options: ListOptions): Promise<SandboxPage> {
  const limit = options.limit ?? LIST_LIMIT.default
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT.maximum) {
    throw new HearthError('invalid_request', `limit: must be between 1 and ${LIST_LIMIT.maximum}`)
  }
  // A list of no states has no rows; Postgres has no syntax for it.
  if (options.states?.length === 0 || options.rungs?.length === 0) return { sandboxes: [], next: null }
  let query = filtered(database, options).orderBy('created_at', 'desc').orderBy('id', 'desc')
  if (options.cursor !== undefined) {
    const { createdAt, id } = decodeCursor(options.cursor)
    query = query.where((where) => where(where.refTuple('created_at', 'id'), '<', where.tuple(createdAt, id)))
  }
  // One more than asked for tells whether there is a next page.
  const rows = await query.limit(limit + 1).execute()
  const sandboxes = rows.slice(0, limit).map(decodeSandbox)
  const last = sandboxes.at(-1)
  return { sandboxes, next: rows.length > limit && last !== undefined ? encodeCursor(last) : null }
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
