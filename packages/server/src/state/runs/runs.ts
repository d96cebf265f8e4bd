import { sql } from 'kysely'
import {
  BOUNDS,
  HearthError,
  NO_PROGRESS,
  type AgentEvent,
  type RunId,
  type RunInfo,
  type RunLease,
  type RunMessage,
  type RunMessageKind,
} from '@hearth/contract'
import { atomically, inBatches, type Database, type Sources } from '../database/database.ts'
import { waitForWakeUp } from '../events/wake-ups.ts'
import { notifyRun, runKey, type RunChanges } from './run-changes.ts'
import { appendEvents, eventPage, findRun, type Appended, type RunEventPage } from './run-events.ts'
import { releaseLease, renewLease, requireLease, takeLease, type TakeOptions } from './run-leases.ts'
import type { Page } from '../database/page.ts'
import { listRuns, type RunListOptions } from './run-list.ts'
import { decodeMessage, decodeRun, type NewRun } from './run-record.ts'

/** Events or messages that a follower reads at once. */
const PAGE = 1000
/** How often a follower looks by itself: another process on the same SQLite file cannot wake it, and a notification can be lost. */
const POLL_MS = 1000

export interface RunRepositoryParts {
  readonly database: Database
  readonly sources: Sources
  readonly changes: RunChanges
  /** Called with the key of a run that changed: inside a transaction it waits for the commit. */
  readonly changed: (key: string) => void
}

/** Runs of agents: who works on each, what happened in it, and what it is told. Every call is for one tenant. */
export class RunRepository {
  readonly #parts: RunRepositoryParts

  constructor(parts: RunRepositoryParts) {
    this.#parts = parts
  }

  /** Taken by its owner already. The same again, when nothing has happened in it yet, is a repetition. */
  async create(tenantId: string, given: NewRun): Promise<{ readonly run: RunInfo; readonly lease: RunLease }> {
    const now = this.#parts.sources.now()
    const { id = this.#parts.sources.newId('run') as RunId, owner, leaseMs, parent, ...rest } = given
    const key = { tenant_id: tenantId, id }
    return await atomically(this.#parts.database, async (inside) => {
      if (parent !== null) await findRun(inside, tenantId, parent)
      const times = { created_at: now, updated_at: now, lease_until: now + leaseMs }
      const progress = JSON.stringify(NO_PROGRESS)
      const row = await inside.query
        .insertInto('runs')
        .values({
          ...key,
          given: JSON.stringify(rest),
          parent_id: parent,
          state: 'running',
          progress,
          owner,
          lease: 1,
          ...times,
        })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'id']).doNothing())
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) return await this.#again(inside, tenantId, { ...given, id })
      const labels = Object.entries(rest.metadata).map((label) => JSON.stringify(label))
      const rows = labels.map((label) => ({ tenant_id: tenantId, run_id: id, label }))
      if (rows.length > 0) await inside.query.insertInto('run_labels').values(rows).execute()
      await requireFewLive(inside, tenantId)
      return { run: decodeRun(row, now), lease: { run: id, lease: 1, until: new Date(times.lease_until) } }
    })
  }

  async #again(inside: Database, tenantId: string, given: NewRun & { readonly id: RunId }) {
    const row = await findRun(inside, tenantId, given.id)
    if (row.owner !== given.owner || row.events > 0) {
      throw new HearthError('conflict', `there is a run ${given.id} already`)
    }
    const now = this.#parts.sources.now()
    const lease = await takeLease(inside, tenantId, given.id, { ...given, force: false }, now)
    return { run: decodeRun(row, now), lease }
  }

  /** `run_not_found` also for one of another tenant. */
  async get(tenantId: string, run: RunId): Promise<RunInfo> {
    return decodeRun(await findRun(this.#parts.database, tenantId, run), this.#parts.sources.now())
  }

  async list(tenantId: string, options: RunListOptions = {}): Promise<Page<RunInfo>> {
    return await listRuns(this.#parts.database, tenantId, options, this.#parts.sources.now())
  }

  async take(tenantId: string, run: RunId, options: TakeOptions): Promise<RunLease> {
    return await takeLease(this.#parts.database, tenantId, run, options, this.#parts.sources.now())
  }

  async renew(tenantId: string, run: RunId, held: { lease: number; leaseMs: number }): Promise<RunLease> {
    return await renewLease(this.#parts.database, tenantId, run, held, this.#parts.sources.now())
  }

  async release(tenantId: string, run: RunId, lease: number): Promise<void> {
    await releaseLease(this.#parts.database, tenantId, run, lease)
  }

  /** Null when all of them were there already. */
  async append(tenantId: string, run: RunId, lease: number, events: readonly AgentEvent[]): Promise<Appended | null> {
    const appended = await atomically(this.#parts.database, async (inside) => {
      const row = await findRun(inside, tenantId, run)
      requireLease(row, lease)
      const done = await appendEvents(inside, row, events, this.#parts.sources.now())
      await notifyRun(inside, runKey(tenantId, run))
      return done
    })
    this.#parts.changed(runKey(tenantId, run))
    return appended
  }

  /** `from` is the number of the first event that is wanted. */
  async events(tenantId: string, run: RunId, from: number, limit: number): Promise<RunEventPage> {
    return await eventPage(this.#parts.database, tenantId, run, from, limit)
  }

  /** Pages as they come, none of them empty, to the end of the run. */
  async *followEvents(tenantId: string, run: RunId, from: number, signal: AbortSignal): AsyncGenerator<RunEventPage> {
    let next = from
    while (!this.#over(signal)) {
      const page = await this.#read(tenantId, run, signal, async () => {
        const read = await this.events(tenantId, run, next, PAGE)
        return read.events.length > 0 || read.complete ? read : null
      })
      if (page === null) continue
      next = page.next
      if (page.events.length > 0) yield page
      if (page.complete) return
    }
  }

  /** Messages as they come, until the signal. */
  async *followMessages(tenantId: string, run: RunId, after: number, signal: AbortSignal): AsyncGenerator<RunMessage> {
    let last = after
    while (!this.#over(signal)) {
      const found = await this.#read(tenantId, run, signal, async () => {
        const read = await this.messages(tenantId, run, last, PAGE)
        return read.length > 0 ? read : null
      })
      for (const message of found ?? []) {
        last = message.number
        yield message
      }
    }
  }

  #over(signal: AbortSignal): boolean {
    return signal.aborted || this.#parts.changes.closed
  }

  /** Null when there is nothing yet, after a while or a change. */
  async #read<Page>(
    tenantId: string,
    run: RunId,
    signal: AbortSignal,
    read: () => Promise<Page | null>,
  ): Promise<Page | null> {
    const wakeUp = this.#parts.changes.next(runKey(tenantId, run))
    try {
      const page = await read()
      if (page === null) await waitForWakeUp(wakeUp, POLL_MS, signal)
      return page
    } catch (error) {
      // The store was closed under the read.
      if (this.#parts.changes.closed) return null
      throw error
    } finally {
      wakeUp.cancel()
    }
  }

  /** What it is told, counted from 1. One that has ended is told nothing. */
  async post(tenantId: string, run: RunId, kind: RunMessageKind, text: string): Promise<RunMessage> {
    const at = this.#parts.sources.now()
    const message = await atomically(this.#parts.database, async (inside) => {
      const { query } = inside
      const row = await query
        .updateTable('runs')
        .set((set) => ({ messages: set('messages', '+', 1) }))
        .where('tenant_id', '=', tenantId)
        .where('id', '=', run)
        .returningAll()
        .executeTakeFirst()
      const { messages: number, ...rest } = row ?? (await findRun(inside, tenantId, run))
      if (rest.state === 'stopped') throw new HearthError('invalid_state', `${run} has ended`)
      if (number > BOUNDS.runMessages) {
        throw new HearthError('run_full', `${run} was sent ${BOUNDS.runMessages} messages, which is the most`)
      }
      const values = { tenant_id: tenantId, run_id: run, number, kind, text: JSON.stringify(text), at }
      await query.insertInto('run_messages').values(values).execute()
      await notifyRun(inside, runKey(tenantId, run))
      return decodeMessage(values)
    })
    this.#parts.changed(runKey(tenantId, run))
    return message
  }

  async messages(tenantId: string, run: RunId, after: number, limit: number): Promise<RunMessage[]> {
    await findRun(this.#parts.database, tenantId, run)
    const rows = await this.#parts.database.query
      .selectFrom('run_messages')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('run_id', '=', run)
      .where('number', '>', after)
      .orderBy('number')
      .limit(limit)
      .execute()
    return rows.map(decodeMessage)
  }

  /** Those that nobody has touched since then go, with all that belongs to them. Says how many. */
  async purge(before: number): Promise<number> {
    const { database } = this.#parts
    const old = await database.query
      .selectFrom('runs')
      .select(['tenant_id', 'id'])
      .where('updated_at', '<', before)
      .where('lease_until', '<', before)
      .execute()
    for (const { tenant_id: tenantId, id } of old) await removeRun(database, tenantId, id)
    return old.length
  }
}

/** Its row goes last: what is left of one that was cut short is found again by it. */
async function removeRun(database: Database, tenantId: string, run: string): Promise<void> {
  for (const table of ['run_events', 'run_messages', 'run_labels'] as const) {
    const column = table === 'run_events' ? 'seq' : table === 'run_messages' ? 'number' : 'label'
    await inBatches(
      async (limit) =>
        await sql`delete from ${sql.table(table)} where tenant_id = ${tenantId} and run_id = ${run} and ${sql.ref(column)} in
          (select ${sql.ref(column)} from ${sql.table(table)} where tenant_id = ${tenantId} and run_id = ${run} limit ${limit})`
          .execute(database.query)
          .then(({ numAffectedRows = 0n }) => ({ numDeletedRows: numAffectedRows })),
    )
  }
  await database.query.deleteFrom('runs').where('tenant_id', '=', tenantId).where('id', '=', run).execute()
}

async function requireFewLive(inside: Database, tenantId: string): Promise<void> {
  const { count } = await inside.query
    .selectFrom('runs')
    .where('tenant_id', '=', tenantId)
    .where('state', '!=', 'stopped')
    .select(({ fn }) => fn.countAll().as('count'))
    .executeTakeFirstOrThrow()
  if (Number(count) <= BOUNDS.liveRuns) return
  throw new HearthError(
    'quota_exceeded',
    `this tenant has ${BOUNDS.liveRuns} runs that have not ended, which is the most`,
    {
      suggestion: 'End some: `hearth agent ls` shows them, `hearth agent stop ID` ends one.',
    },
  )
}
