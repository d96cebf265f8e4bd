import { setImmediate } from 'node:timers/promises'
import { sql } from 'kysely'
import { atomically, type Database } from '../database/database.ts'
import type { EventDropsTable } from '../database/tables.ts'

/** How many events are kept. Whatever breaks either bound goes, oldest first. */
export interface Retention {
  readonly maximumPerSandbox: number
  readonly maximumAgeMs: number
}

export const DEFAULT_RETENTION: Retention = { maximumPerSandbox: 10_000, maximumAgeMs: 7 * 24 * 3_600_000 }

export interface DroppedEvents {
  readonly count: number
  readonly bySandbox: readonly {
    readonly tenantId: string
    /** Null for events of the tenant itself. */
    readonly sandboxId: string | null
    readonly count: number
    /** The largest `seq` among them. */
    readonly through: number
  }[]
}

/** One bound of one sandbox at a time, each in its own transaction, so that appending never waits long. */
export async function pruneEvents(database: Database, now: number, retention: Retention): Promise<DroppedEvents> {
  const bySandbox: DroppedEvents['bySandbox'][number][] = []
  for (const range of [
    ...(await aged(database, now - retention.maximumAgeMs)),
    ...(await crowded(database, retention)),
  ]) {
    const count = await drop(database, range)
    if (count > 0) bySandbox.push({ ...range, count })
    // SQLite is called synchronously: requests get their turn in between.
    await setImmediate()
  }
  await forgetDeleted(database)
  return { count: bySandbox.reduce((sum, entry) => sum + entry.count, 0), bySandbox }
}

interface Range {
  readonly tenantId: string
  readonly sandboxId: string | null
  readonly through: number
}

async function aged(database: Database, before: number): Promise<Range[]> {
  return await database.query
    .selectFrom('events')
    .where('at', '<', before)
    .groupBy(['tenant_id', 'sandbox_id'])
    .select(({ fn }) => ['tenant_id as tenantId', 'sandbox_id as sandboxId', fn.max('seq').as('through')])
    .execute()
}

async function crowded(database: Database, retention: Retention): Promise<Range[]> {
  const groups = await database.query
    .selectFrom('events')
    .groupBy(['tenant_id', 'sandbox_id'])
    .having(({ fn }) => fn.countAll(), '>', retention.maximumPerSandbox)
    .select(['tenant_id as tenantId', 'sandbox_id as sandboxId'])
    .execute()
  const ranges = await Promise.all(groups.map((group) => crowdedIn(database, group, retention.maximumPerSandbox)))
  return ranges.filter((range) => range !== null)
}

/** What is beyond the bound in one group. */
async function crowdedIn(database: Database, group: Omit<Range, 'through'>, maximum: number): Promise<Range | null> {
  const row = await inGroup(database, group)
    .select('seq')
    .orderBy('seq', 'desc')
    .offset(maximum)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : { ...group, through: row.seq }
}

export async function pruneGroup(database: Database, group: Omit<Range, 'through'>, maximum: number): Promise<void> {
  const range = await crowdedIn(database, group, maximum)
  if (range !== null) await drop(database, range)
}

function inGroup(database: Database, group: Omit<Range, 'through'>) {
  const query = database.query.selectFrom('events').where('tenant_id', '=', group.tenantId)
  return group.sandboxId === null
    ? query.where('sandbox_id', 'is', null)
    : query.where('sandbox_id', '=', group.sandboxId)
}

function drop(database: Database, range: Range): Promise<number> {
  return atomically(database, async (inside) => {
    const gone = inGroup(inside, range).where('seq', '<=', range.through)
    const seqs = gone.select('seq')
    const chain = await gone
      .where('hash', 'is not', null)
      .select((build) => [
        build.fn.countAll<number>().as('chained'),
        build.selectFrom('events').select('hash').where('seq', '=', range.through).as('hash'),
      ])
      .executeTakeFirstOrThrow()
    const { numDeletedRows } = await inside.query.deleteFrom('events').where('seq', 'in', seqs).executeTakeFirst()
    const count = Number(numDeletedRows)
    if (count === 0) return 0
    const { tenantId, sandboxId, through } = range
    await note(inside, { tenant_id: tenantId, sandbox_id: '', through, count, chained: 0, hash: null })
    if (sandboxId !== null) await note(inside, { tenant_id: tenantId, sandbox_id: sandboxId, through, count, ...chain })
    return count
  })
}

async function note(database: Database, drops: EventDropsTable): Promise<void> {
  await database.query
    .insertInto('event_drops')
    .values(drops)
    .onConflict((conflict) =>
      conflict.columns(['tenant_id', 'sandbox_id']).doUpdateSet({
        // Two bounds are applied one after the other, and the second may end earlier than the first.
        through: sql`case when event_drops.through > excluded.through then event_drops.through else excluded.through end`,
        hash: sql`case when event_drops.through > excluded.through then event_drops.hash else excluded.hash end`,
        count: sql`event_drops.count + excluded.count`,
        chained: sql`event_drops.chained + excluded.chained`,
      }),
    )
    .execute()
}

/** The notes of a sandbox and the end of its chain go when neither it nor any of its events is there; the note of its tenant still counts them. */
async function forgetDeleted(database: Database): Promise<void> {
  for (const table of ['event_drops', 'event_chains'] as const) {
    await sql`delete from ${sql.table(table)} where sandbox_id <> ''
      and not exists (select 1 from events where events.sandbox_id = ${sql.ref(`${table}.sandbox_id`)})
      and not exists (select 1 from sandboxes where sandboxes.id = ${sql.ref(`${table}.sandbox_id`)})`.execute(
      database.query,
    )
  }
}
