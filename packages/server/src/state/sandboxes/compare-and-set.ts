import type { Updateable } from 'kysely'
import { HearthError } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import type { SandboxesTable } from '../database/tables.ts'
import { decodeSandbox, type SandboxRecord } from './sandbox-record.ts'

/** What a compare-and-set compares: a record as it was read. */
export type SandboxVersion = Pick<SandboxRecord, 'id' | 'state' | 'version'>

/** Null for one that never was and for one that is deleted. */
export async function findSandbox(database: Database, id: string): Promise<SandboxRecord | null> {
  const query = database.query.selectFrom('sandboxes').selectAll().where('id', '=', id)
  const row = await query.where('state', '!=', 'deleted').executeTakeFirst()
  return row === undefined ? null : decodeSandbox(row)
}

/** One statement, so that of any number of writers that read the same version exactly one succeeds. */
export async function compareAndSet(
  database: Database,
  from: SandboxVersion,
  change: Updateable<SandboxesTable>,
): Promise<SandboxRecord> {
  const row = await database.query
    .updateTable('sandboxes')
    .set((set) => ({ ...change, version: set('version', '+', 1) }))
    .where('id', '=', from.id)
    .where('state', '=', from.state)
    .where('state', '!=', 'deleted')
    .where('version', '=', from.version)
    .returningAll()
    .executeTakeFirst()
  if (row !== undefined) return decodeSandbox(row)
  const present = await findSandbox(database, from.id)
  if (present === null) throw notFound(from.id)
  const { state, version } = present
  const message = `${from.id} is ${state} (version ${version}) and no longer ${from.state} (version ${from.version})`
  throw new HearthError('conflict', message, { context: { sandbox: from.id, state, version } })
}

export function notFound(id: string): HearthError {
  return new HearthError('sandbox_not_found', `there is no sandbox ${id}`, { context: { sandbox: id } })
}
