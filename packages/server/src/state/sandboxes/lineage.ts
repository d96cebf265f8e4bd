import { BOUNDS, HearthError, type SandboxId } from '@hearth/contract'
import { sql, type RawBuilder } from 'kysely'
import type { Database } from '../database/database.ts'
import { ALIVE_STATES } from '../lifecycle.ts'
import { decodeSandbox, type SandboxRecord } from './sandbox-record.ts'

const ALIVE = sql.raw(ALIVE_STATES.map((state) => `'${state}'`).join(', '))

/**
 * A sandbox, those that it was forked of, and all forks of any of these, oldest first. One that is deleted is among them for as long as its
 * tombstone is kept and a fork of it lives: without it the others would hang in the air.
 */
export async function findLineage(database: Database, tenantId: string, id: string): Promise<SandboxRecord[]> {
  const rows = await database.query
    .withRecursive('above', (query) =>
      query
        .selectFrom('sandboxes')
        .select(['sandboxes.id', 'sandboxes.parent_id'])
        .where('sandboxes.id', '=', id)
        .where('sandboxes.tenant_id', '=', tenantId)
        .union(
          query
            .selectFrom('sandboxes')
            .innerJoin('above', 'above.parent_id', 'sandboxes.id')
            .select(['sandboxes.id', 'sandboxes.parent_id']),
        ),
    )
    .withRecursive('tree', (query) =>
      query
        .selectFrom('above')
        .select('above.id as id')
        .union(
          query
            .selectFrom('sandboxes')
            .innerJoin('tree', 'tree.id', 'sandboxes.parent_id')
            .select('sandboxes.id as id'),
        ),
    )
    .selectFrom('sandboxes')
    .selectAll()
    .where('id', 'in', (select) => select.selectFrom('tree').select('tree.id'))
    .where('tenant_id', '=', tenantId)
    .orderBy('created_at')
    .orderBy('id')
    .limit(BOUNDS.lineage + 1)
    .execute()
  if (rows.length > BOUNDS.lineage) {
    throw new HearthError('too_many', `more than ${BOUNDS.lineage} sandboxes are related to ${id}`)
  }
  return withoutDeadEnds(rows.map(decodeSandbox))
}

/** What living sandboxes were forked from, as far up as it is kept for each. */
export function livingAncestry(): RawBuilder<SandboxId> {
  return sql<SandboxId>`(with recursive ancestry(id, level) as (
    select parent_id, 1 from sandboxes where state in (${ALIVE}) and parent_id is not null
    union select sandboxes.parent_id, ancestry.level + 1 from ancestry
    join sandboxes on sandboxes.id = ancestry.id
    where sandboxes.parent_id is not null and ancestry.level < ${BOUNDS.ancestors}
  ) select id from ancestry)`
}

function withoutDeadEnds(oldestFirst: readonly SandboxRecord[]): SandboxRecord[] {
  const kept = new Set<string>()
  const newestFirst = oldestFirst.toReversed().filter((record) => {
    if (record.state === 'deleted' && !kept.has(record.id)) return false
    if (record.parentId !== null) kept.add(record.parentId)
    return true
  })
  return newestFirst.reverse()
}
