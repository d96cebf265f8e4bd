import { type Insertable, type RawBuilder, type Selectable, sql } from 'kysely'
import { CHAIN_START, chainHash, type RecordHead } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import type { EventChainsTable, EventsTable } from '../database/tables.ts'
import { eventView } from '../events/event-record.ts'
import type { RecordSigner } from './record-signer.ts'

/** SQLite takes at most 32766 parameters in a statement. */
const ROWS_PER_STATEMENT = 500

/**
 * Gives each row of a sandbox the hash of itself and of all before it, and moves the heads of the chains. Called with the lock of the
 * sequence, so that nobody else appends between.
 */
export async function chainEvents(
  database: Database,
  rows: readonly Omit<EventsTable, 'hash'>[],
  signer: RecordSigner | null,
): Promise<{ readonly rows: EventsTable[]; readonly heads: readonly RecordHead[] }> {
  const sandboxes = [...new Set(rows.flatMap(({ sandbox_id: id }) => (id === null ? [] : [id])))]
  const known = await readChains(database, sandboxes)
  const chains = new Map<string, Insertable<EventChainsTable>>()
  const chained = rows.map((row) => {
    if (row.sandbox_id === null) return { ...row, hash: null }
    const before = chains.get(row.sandbox_id) ?? beginning(row, known.get(row.sandbox_id), signer)
    const hash = chainHash(before.hash, eventView({ ...row, hash: null }))
    chains.set(row.sandbox_id, { ...before, length: before.length + 1, seq: row.seq, hash })
    return { ...row, hash }
  })
  const moved = [...chains.values()].map((chain) => withSignature(chain, signer))
  await writeChains(database, moved)
  return { rows: chained, heads: moved.map(headOf) }
}

async function readChains(
  { query }: Database,
  sandboxes: readonly string[],
): Promise<Map<string, Selectable<EventChainsTable>>> {
  const known = new Map<string, Selectable<EventChainsTable>>()
  for (let start = 0; start < sandboxes.length; start += ROWS_PER_STATEMENT) {
    const some = sandboxes.slice(start, start + ROWS_PER_STATEMENT)
    const found = await query.selectFrom('event_chains').selectAll().where('sandbox_id', 'in', some).execute()
    for (const chain of found) known.set(chain.sandbox_id, chain)
  }
  return known
}

/** A head that this server has not signed is gone on from, but never again called whole: signing what follows would hide it. */
function beginning(
  row: Omit<EventsTable, 'hash'>,
  chain: Selectable<EventChainsTable> | undefined,
  signer: RecordSigner | null,
): Insertable<EventChainsTable> {
  if (chain === undefined) {
    const { tenant_id, sandbox_id } = row
    const nothing = { signature: null, public_key: null, broken_at: null }
    return { sandbox_id: sandbox_id ?? '', tenant_id, length: 0, seq: 0, hash: CHAIN_START, ...nothing }
  }
  const isWhole = signer === null || chain.broken_at !== null || signer.knows(headOf(chain))
  return isWhole ? chain : { ...chain, broken_at: chain.seq }
}

function withSignature(chain: Insertable<EventChainsTable>, signer: RecordSigner | null): EventChainsTable {
  const bare = { ...chain, signature: null, public_key: null, broken_at: chain.broken_at ?? null }
  if (signer === null) return bare
  const { signature, publicKey } = signer.signed(headOf(bare))
  return { ...bare, signature, public_key: publicKey }
}

export function headOf(chain: Selectable<EventChainsTable>): RecordHead {
  const { sandbox_id: sandbox, length, seq, hash, signature, public_key: publicKey } = chain
  return { sandbox, length, seq, hash, signature, publicKey }
}

/** Written out, as each create does it twice, and building it would take longer than running it. */
async function writeChains({ query }: Database, chains: readonly EventChainsTable[]): Promise<void> {
  for (let start = 0; start < chains.length; start += ROWS_PER_STATEMENT) {
    const rows = chains.slice(start, start + ROWS_PER_STATEMENT).map(chainValues)
    await sql`insert into event_chains
      (sandbox_id, tenant_id, length, seq, hash, signature, public_key, broken_at) values ${sql.join(rows)}
      on conflict (sandbox_id) do update set length = excluded.length, seq = excluded.seq, hash = excluded.hash,
      signature = excluded.signature, public_key = excluded.public_key, broken_at = excluded.broken_at`.execute(query)
  }
}

function chainValues(chain: EventChainsTable): RawBuilder<unknown> {
  const { sandbox_id, tenant_id, length, seq, hash, signature, public_key, broken_at } = chain
  return sql`(${sandbox_id}, ${tenant_id}, ${length}, ${seq}, ${hash}, ${signature}, ${public_key}, ${broken_at})`
}
