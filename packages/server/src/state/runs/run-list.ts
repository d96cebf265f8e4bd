import { HearthError, type RunId, type RunInfo, type RunState } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import { decodeRun } from './run-record.ts'

const MAXIMUM_METADATA_FILTERS = 16

/** All that are given must hold. */
export interface RunFilter {
  readonly state?: RunState
  readonly parent?: RunId
  readonly sandbox?: string
  readonly metadata?: Readonly<Record<string, string>>
}

export interface RunListOptions extends RunFilter, PageOptions {}

export async function listRuns(
  database: Database,
  tenantId: string,
  options: RunListOptions,
  now: number,
): Promise<Page<RunInfo>> {
  return await newestFirst(filtered(database, tenantId, options), options, (row) => decodeRun(row, now))
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
