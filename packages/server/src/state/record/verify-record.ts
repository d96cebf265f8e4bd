import { ChainReader, HearthError, type RecordDrops, type RecordHead, type RecordVerdict } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { eventView } from '../events/event-record.ts'
import { headOf } from './chain-events.ts'
import type { RecordSigner } from './record-signer.ts'

const PAGE = 1000
/** Retention may take entries while they are read: then it is read anew. */
const ATTEMPTS = 5

/** Reads the whole record of a sandbox and says whether it is as it was written. `sandbox_not_found` when it never had one. */
export async function verifyRecord(
  database: Database,
  signer: RecordSigner | null,
  tenantId: string,
  sandboxId: string,
): Promise<RecordVerdict> {
  for (let attempt = 1; ; attempt++) {
    const { head, brokenAt } = await readHead(database, tenantId, sandboxId)
    const dropped = await readDrops(database, tenantId, sandboxId)
    const reader = new ChainReader(sandboxId, dropped?.hash ?? null)
    await readEntries(database, sandboxId, head, reader)
    const after = await readDrops(database, tenantId, sandboxId)
    if (after?.through !== dropped?.through && attempt < ATTEMPTS) continue
    const problem = reader.finish(head, dropped?.count ?? 0) ?? headProblem(head, brokenAt, signer)
    const { entries, unchained: unproven } = reader
    return { valid: problem === null, problem, entries, unproven, dropped, head }
  }
}

function headProblem(head: RecordHead, brokenAt: number | null, signer: RecordSigner | null): string | null {
  if (brokenAt !== null) return `the head at entry ${brokenAt} was not signed by this server`
  if (signer === null || signer.knows(head)) return null
  return head.publicKey === signer.publicKey
    ? 'the head is not signed by this server'
    : 'the head is signed with another key than that of this server'
}

async function readHead(
  { query }: Database,
  tenantId: string,
  sandboxId: string,
): Promise<{ readonly head: RecordHead; readonly brokenAt: number | null }> {
  const found = query.selectFrom('event_chains').selectAll().where('sandbox_id', '=', sandboxId)
  const row = await found.where('tenant_id', '=', tenantId).executeTakeFirst()
  if (row === undefined) {
    throw new HearthError('sandbox_not_found', `there is no record of a sandbox ${sandboxId}`, {
      context: { sandbox: sandboxId },
    })
  }
  return { head: headOf(row), brokenAt: row.broken_at }
}

async function readDrops({ query }: Database, tenantId: string, sandboxId: string): Promise<RecordDrops | null> {
  const found = query.selectFrom('event_drops').where('tenant_id', '=', tenantId).where('sandbox_id', '=', sandboxId)
  const row = await found.select(['chained as count', 'through', 'hash']).executeTakeFirst()
  return row === undefined || row.hash === null ? null : row
}

async function readEntries({ query }: Database, id: string, head: RecordHead, reader: ChainReader): Promise<void> {
  for (let after = 0; ;) {
    const rows = await query
      .selectFrom('events')
      .selectAll()
      .where('sandbox_id', '=', id)
      .where('seq', '>', after)
      .where('seq', '<=', head.seq)
      .orderBy('seq')
      .limit(PAGE)
      .execute()
    for (const row of rows) reader.add(eventView(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < PAGE) return
    after = last.seq
  }
}
