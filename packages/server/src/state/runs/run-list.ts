import { HearthError, type RunId, type RunInfo, type RunState } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { decodeCursor, encodeCursor } from '../sandboxes/cursor.ts'
import { LIST_LIMIT } from '../sandboxes/sandbox-list.ts'
import { decodeRun } from './run-record.ts'

const MAXIMUM_METADATA_FILTERS = 16

/** All that are given must hold. */
export interface RunFilter {
  readonly state?: RunState
  readonly parent?: RunId
  readonly sandbox?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export interface RunListOptions extends RunFilter {
  readonly limit?: number
  readonly cursor?: string
}

export interface RunPage {
  /** Newest first. */
  readonly runs: readonly RunInfo[]
  readonly next: string | null
}

export async function listRuns(
  database: Database,
  tenantId: string,
  options: RunListOptions,
  now: number,
): Promise<RunPage> {
  const { limit = LIST_LIMIT.default, cursor } = options
  let query = filtered(database, tenantId, options).orderBy('created_at', 'desc').orderBy('id', 'desc')
  if (cursor !== undefined) {
    const { createdAt, id } = decodeCursor(cursor)
    query = query.where((where) => where(where.refTuple('created_at', 'id'), '<', where.tuple(createdAt, id)))
  }
  // One more than asked for tells whether there is a next page.
  const rows = await query.limit(limit + 1).execute()
  const last = rows[limit - 1]
  return {
    runs: rows.slice(0, limit).map((row) => decodeRun(row, now)),
    next: rows.length > limit && last !== undefined ? encodeCursor({ createdAt: last.created_at, id: last.id }) : null,
  }
}

function filtered(database: Database, tenantId: string, { state, parent, sandbox, metadata = {} }: RunFilter) {
  const labels = Object.entries(metadata)
  if (labels.length > MAXIMUM_METADATA_FILTERS) {
    throw new HearthError('invalid_request', `metadata: at most ${MAXIMUM_METADATA_FILTERS} pairs in a filter`)
  }
  let query = database.query.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId)
  if (state !== undefined) query = query.where('state', '=', state)
  if (parent !== undefined) query = query.where('parent_id', '=', parent)
  if (sandbox !== undefined) query = query.where('sandbox_id', '=', sandbox)
  for (const label of labels) {
    query = query.where('id', 'in', (select) =>
      select
        .selectFrom('run_labels')
        .select('run_id')
        .where('tenant_id', '=', tenantId)
        .where('label', '=', JSON.stringify(label)),
    )
  }
  return query
}
