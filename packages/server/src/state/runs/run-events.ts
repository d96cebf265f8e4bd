import { BOUNDS, HearthError, progressOf, type AgentEvent, type RunId, type RunProgress } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import { progressOfRow, runNotFound, type RunRow } from './run-record.ts'

/** Bytes of one page: an event may be large, and a page is in memory whole. */
export const PAGE_BYTES = BOUNDS.runEventBytes

/** What is written down in any case, so that a run that is full still has an end. */
const LAST: ReadonlySet<AgentEvent['type']> = new Set(['stopped', 'result'])

/** SQLite takes at most 32766 parameters in a statement. */
const ROWS_PER_INSERT = 500

export async function findRun(database: Database, tenantId: string, id: string): Promise<RunRow> {
  const query = database.query.selectFrom('runs').selectAll().where('tenant_id', '=', tenantId)
  const row = await query.where('id', '=', id).executeTakeFirst()
  if (row === undefined) throw runNotFound(id)
  return row
}

/** What changed for everybody: a state that was entered. */
export interface Appended {
  readonly before: RunProgress
  readonly after: RunProgress
}

/** Inside a transaction. Nothing of it, or all: the row is compared with what was read, so that of two writers one succeeds. */
export async function appendEvents(
  database: Database,
  row: RunRow,
  events: readonly AgentEvent[],
  now: number,
): Promise<Appended | null> {
  const rows = events.map((event) => encoded(row, event))
  if ((events[0]?.seq ?? 0) < row.events && (await areKept(database, row, rows))) return null
  const before = progressOfRow(row)
  const after = checked(row, before, events)
  const bytes = rows.reduce((sum, each) => sum + each.bytes, row.bytes)
  requireRoom(row, events, rows, bytes)
  const { numUpdatedRows } = await database.query
    .updateTable('runs')
    .set({
      progress: JSON.stringify(after),
      state: after.state,
      sandbox_id: after.sandbox === null ? null : after.sandbox.slice(0, 64).replaceAll(/[^\x21-\x7e]/g, '?'),
      events: row.events + events.length,
      bytes,
      updated_at: now,
    })
    .where('tenant_id', '=', row.tenant_id)
    .where('id', '=', row.id)
    .where('lease', '=', row.lease)
    .where('events', '=', row.events)
    .executeTakeFirst()
  if (Number(numUpdatedRows) !== 1) throw outOfTurn(row)
  for (let start = 0; start < rows.length; start += ROWS_PER_INSERT) {
    await database.query
      .insertInto('run_events')
      .values(rows.slice(start, start + ROWS_PER_INSERT))
      .execute()
  }
  return { before, after }
}

function encoded(row: RunRow, event: AgentEvent) {
  const text = JSON.stringify(event)
  return { tenant_id: row.tenant_id, run_id: row.id, seq: event.seq, bytes: Buffer.byteLength(text), event: text }
}

/** A repetition of a call whose answer was lost: the same events, to the last one. */
async function areKept(
  database: Database,
  row: RunRow,
  rows: readonly { readonly seq: number; readonly event: string }[],
): Promise<boolean> {
  const query = database.query.selectFrom('run_events').select(['seq', 'event']).where('tenant_id', '=', row.tenant_id)
  const from = rows[0]?.seq ?? 0
  const kept = await query.where('run_id', '=', row.id).where('seq', '>=', from).orderBy('seq').execute()
  return kept.length === rows.length && kept.every(({ event }, index) => event === rows[index]?.event)
}

function checked(row: RunRow, before: RunProgress, events: readonly AgentEvent[]): RunProgress {
  let progress = before
  for (const [index, event] of events.entries()) {
    if (event.seq !== row.events + index) throw outOfTurn(row)
    const next = (event.type === 'started') === (event.seq === 0) ? progressOf(progress, event) : null
    if (next === null) {
      throw new HearthError('invalid_request', `a run cannot have the event ${event.type} as its ${event.seq}.`)
    }
    progress = next
  }
  return progress
}

function requireRoom(
  row: RunRow,
  events: readonly AgentEvent[],
  rows: readonly { readonly bytes: number }[],
  bytes: number,
): void {
  if (rows.some((each) => each.bytes > BOUNDS.runEventBytes)) {
    throw new HearthError('run_full', `an event of a run has at most ${BOUNDS.runEventBytes} bytes`)
  }
  if (events.every(({ type }) => LAST.has(type))) return
  if (row.events + events.length > BOUNDS.runEvents) {
    throw new HearthError('run_full', `${row.id} has ${row.events} events, and ${BOUNDS.runEvents} are the most`)
  }
  if (bytes > BOUNDS.runBytes) {
    throw new HearthError('run_full', `the events of ${row.id} have ${BOUNDS.runBytes} bytes at the most`)
  }
}

function outOfTurn(row: RunRow): HearthError {
  return new HearthError('conflict', `event ${row.events} of ${row.id} is the next: somebody else has written it down`)
}

export interface RunEventPage {
  readonly events: readonly AgentEvent[]
  /** The number of the event after the last of this page. */
  readonly next: number
  /** No more events are there now, and whether any can come. */
  readonly end: boolean
  readonly complete: boolean
}

export async function eventPage(
  database: Database,
  tenantId: string,
  run: RunId,
  from: number,
  limit: number,
): Promise<RunEventPage> {
  const row = await findRun(database, tenantId, run)
  const query = database.query.selectFrom('run_events').where('tenant_id', '=', tenantId).where('run_id', '=', run)
  const sizes = await query.select(['seq', 'bytes']).where('seq', '>=', from).orderBy('seq').limit(limit).execute()
  let room = PAGE_BYTES
  const fitting = sizes.filter(({ bytes }, index) => (room -= bytes) >= 0 || index === 0)
  const last = fitting.at(-1)?.seq ?? from - 1
  const rows = await query.select('event').where('seq', '>=', from).where('seq', '<=', last).orderBy('seq').execute()
  const end = last + 1 >= row.events
  const complete = end && progressOfRow(row).complete
  return { events: rows.map(({ event }) => JSON.parse(event) as AgentEvent), next: last + 1, end, complete }
}
