import { HearthError, type RunId, type RunLease } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { findRun } from './run-events.ts'
import { progressOfRow, type RunRow } from './run-record.ts'

export interface TakeOptions {
  readonly owner: string
  readonly leaseMs: number
  /** Also from one that may be at work still. */
  readonly force: boolean
}

/** Each who takes a run gets a larger number; what is written with a smaller one is refused. */
export async function takeLease(
  database: Database,
  tenantId: string,
  run: RunId,
  { owner, leaseMs, force }: TakeOptions,
  now: number,
): Promise<RunLease> {
  const row = await findRun(database, tenantId, run)
  if (progressOfRow(row).complete) throw new HearthError('invalid_state', `${run} has ended`)
  // The same one may ask again when the answer was lost.
  const free = force || row.owner === null || row.owner === owner || row.lease_until <= now
  if (!free) throw taken(row)
  const lease = row.lease + 1
  const until = now + leaseMs
  await change(database, row, { owner, lease, lease_until: until })
  return { run, lease, until: new Date(until) }
}

export async function renewLease(
  database: Database,
  tenantId: string,
  run: RunId,
  { lease, leaseMs }: { readonly lease: number; readonly leaseMs: number },
  now: number,
): Promise<RunLease> {
  const row = await findRun(database, tenantId, run)
  requireLease(row, lease)
  const until = now + leaseMs
  await change(database, row, { lease_until: until })
  return { run, lease, until: new Date(until) }
}

/** Whoever has it by now keeps it. */
export async function releaseLease(database: Database, tenantId: string, run: RunId, lease: number): Promise<void> {
  await findRun(database, tenantId, run)
  await database.query
    .updateTable('runs')
    .set({ owner: null, lease_until: 0 })
    .where('tenant_id', '=', tenantId)
    .where('id', '=', run)
    .where('lease', '=', lease)
    .execute()
}

/** One that has run out still counts while nobody else has taken the run. */
export function requireLease(row: RunRow, lease: number): void {
  if (row.lease !== lease || row.owner === null) throw taken(row)
}

async function change(
  database: Database,
  row: RunRow,
  set: { readonly owner?: string; readonly lease?: number; readonly lease_until: number },
): Promise<void> {
  const { numUpdatedRows } = await database.query
    .updateTable('runs')
    .set(set)
    .where('tenant_id', '=', row.tenant_id)
    .where('id', '=', row.id)
    .where('lease', '=', row.lease)
    .executeTakeFirst()
  if (Number(numUpdatedRows) !== 1) throw taken(row)
}

function taken(row: RunRow): HearthError {
  const who = row.owner === null ? 'nobody' : row.owner
  return new HearthError('conflict', `${row.id} is worked on by ${who}, under lease ${row.lease}`, {
    context: { run: row.id, owner: row.owner, until: new Date(row.lease_until).toISOString() },
    suggestion: 'Wait until it ends or gives the run back; what stopped without a word is free when its lease is over.',
  })
}
