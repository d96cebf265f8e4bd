import type { Database } from '../database/database.ts'
import { decodeOperation, type Operation } from './operation-record.ts'

export interface ClaimOptions {
  /** Unique to one life of one server. */
  readonly owner: string
  readonly leaseMs: number
  /** At most so many. Default 1. */
  readonly limit?: number
  /** Only these kinds. Default all. */
  readonly kinds?: readonly string[]
  /** Leaves those whose sandbox is on another host to the server there. Default: wherever it is. */
  readonly hostId?: string
}

/**
 * One statement, atomic on both databases: SQLite has one writer at a time, Postgres locks the rows that it picks and passes
 * over those that another claim has locked.
 */
export async function claimOperations(database: Database, now: number, options: ClaimOptions): Promise<Operation[]> {
  // No kinds, no operations; Postgres has no syntax for an empty list.
  if (options.kinds?.length === 0) return []
  const rows = await database.query
    .with('picked', () => pick(database, now, options))
    .updateTable('operations')
    .set((set) => ({
      state: 'running' as const,
      owner: options.owner,
      lease_until: now + options.leaseMs,
      attempts: set('attempts', '+', 1),
      updated_at: now,
    }))
    .where('id', 'in', (select) => select.selectFrom('picked').select('picked.id'))
    .returningAll()
    .execute()
  return rows
    .map(decodeOperation)
    .sort((left, right) => left.createdAt - right.createdAt || (left.id < right.id ? -1 : 1))
}

function pick(database: Database, now: number, options: ClaimOptions) {
  let query = database.query
    .selectFrom('operations')
    .select('id')
    .where('state', 'in', ['pending', 'running'])
    .where((where) => where.or([where('lease_until', 'is', null), where('lease_until', '<=', now)]))
    .orderBy('created_at')
    .orderBy('id')
    .limit(options.limit ?? 1)
  if (options.kinds !== undefined) query = query.where('kind', 'in', [...options.kinds])
  const { hostId } = options
  if (hostId !== undefined) {
    query = query.where((where) => {
      const ofSandbox = where.selectFrom('sandboxes').select('sandboxes.id').whereRef('sandboxes.id', '=', 'sandbox_id')
      return where.not(where.exists(ofSandbox.where('sandboxes.host_id', '!=', hostId)))
    })
  }
  return database.dialect === 'postgres' ? query.forUpdate().skipLocked() : query
}
