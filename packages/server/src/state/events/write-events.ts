import { sql } from 'kysely'
import type { RecordHead } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { chainEvents } from '../record/chain-events.ts'
import type { RecordSigner } from '../record/record-signer.ts'
import { decodeEvent, type NewEvent, type StoredEvent } from './event-record.ts'

/** The channel of Postgres on which other servers hear of new events. A message that is empty is about those of the record, another names a run. Who hears it, reads. */
export const EVENT_CHANNEL = 'hearth_events'

export interface PendingEvent extends NewEvent {
  readonly at: number
}

/** What was written, once it is committed. */
export interface WrittenEvents {
  readonly events: readonly StoredEvent[]
  readonly heads: readonly RecordHead[]
}

/** SQLite takes at most 32766 parameters in a statement. */
const ROWS_PER_INSERT = 500

/**
 * The last thing that a transaction does: from here until its commit no other can append. Taking the numbers from a row, not
 * from a sequence of the database, makes them visible in order; a sequence would let a later number be seen before an earlier one.
 */
export async function writeEvents(
  database: Database,
  events: readonly PendingEvent[],
  signer: RecordSigner | null,
): Promise<WrittenEvents> {
  if (events.length === 0) return { events: [], heads: [] }
  const { value } = await database.query
    .updateTable('event_sequence')
    .set((set) => ({ value: set('value', '+', events.length) }))
    .returning('value')
    .$if(database.dialect === 'postgres', (query) =>
      query.returning(sql`pg_notify(${EVENT_CHANNEL}, '')`.as('notified')),
    )
    .executeTakeFirstOrThrow()
  const numbered = events.map((event, index) => ({
    seq: value - events.length + index + 1,
    tenant_id: event.tenantId,
    sandbox_id: event.sandboxId ?? null,
    at: event.at,
    type: event.type,
    data: JSON.stringify(event.data ?? {}),
  }))
  const { rows, heads } = await chainEvents(database, numbered, signer)
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    await database.query
      .insertInto('events')
      .values(rows.slice(start, start + ROWS_PER_INSERT))
      .execute()
  }
  return { events: rows.map(decodeEvent), heads }
}
