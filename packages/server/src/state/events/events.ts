import { HearthError, type RecordVerdict } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import { decodeEvent, type EventFilter, type EventPage, type NewEvent } from './event-record.ts'
import type { RecordSigner } from '../record/record-signer.ts'
import { verifyRecord } from '../record/verify-record.ts'
import { pruneEvents, pruneGroup, type DroppedEvents, type Retention } from './retention.ts'
import { waitForWakeUp, type WakeUps } from './wake-ups.ts'
import type { PendingEvent } from './write-events.ts'

export const EVENT_LIMIT = { default: 100, maximum: 1000 } as const

/** How often a follower looks by itself: another process on the same SQLite file cannot wake it, and a notification can be lost. */
export const DEFAULT_POLL_MS = 1000

export interface EventsQuery extends EventFilter {
  /** Only events with a larger `seq`. Default 0, the beginning. */
  readonly after?: number
  /** 1 to 1000, default 100. */
  readonly limit?: number
  /** Only events with a smaller `seq`, the newest first. */
  readonly before?: number
}

export interface FollowOptions extends EventFilter {
  readonly after?: number
  readonly signal?: AbortSignal
  readonly pollMs?: number
}

export interface EventRepositoryParts {
  readonly database: Database
  readonly sources: Sources
  readonly wakeUps: WakeUps
  readonly signer: RecordSigner | null
  /** Inside a transaction it collects until just before the commit; outside it commits at once. */
  readonly publish: (events: readonly PendingEvent[]) => Promise<void>
}

export class EventRepository {
  readonly #parts: EventRepositoryParts

  constructor(parts: EventRepositoryParts) {
    this.#parts = parts
  }

  /** Inside a transaction the event is written together with the rest of it and cannot be read before. */
  async append(...events: readonly NewEvent[]): Promise<void> {
    const now = this.#parts.sources.now()
    await this.#parts.publish(events.map((event) => ({ ...event, at: event.at ?? now })))
  }

  async page(query: EventsQuery = {}): Promise<EventPage> {
    const { after = 0, limit = EVENT_LIMIT.default, tenantId, sandboxId, types, before } = query
    if (!Number.isInteger(limit) || limit < 1 || limit > EVENT_LIMIT.maximum) {
      throw new HearthError('invalid_request', `limit: must be between 1 and ${EVENT_LIMIT.maximum}`)
    }
    let select = this.#parts.database.query.selectFrom('events').selectAll().where('seq', '>', after)
    if (tenantId !== undefined) select = select.where('tenant_id', '=', tenantId)
    if (sandboxId !== undefined) select = select.where('sandbox_id', '=', sandboxId)
    // Postgres has no syntax for an empty list.
    if (types !== undefined) select = select.where('type', 'in', types.length === 0 ? [''] : [...types])
    if (before !== undefined) select = select.where('seq', '<', before)
    const rows = await select
      .orderBy('seq', before === undefined ? 'asc' : 'desc')
      .limit(limit)
      .execute()
    const events = rows.map(decodeEvent)
    return { events, next: events.at(-1)?.seq ?? after, dropped: await this.#droppedAfter(after, query) }
  }

  async #droppedAfter(after: number, filter: EventFilter): Promise<EventPage['dropped']> {
    const { tenantId, sandboxId = '' } = filter
    let select = this.#parts.database.query.selectFrom('event_drops').where('sandbox_id', '=', sandboxId)
    if (tenantId !== undefined) select = select.where('tenant_id', '=', tenantId)
    const row = await select
      .select(({ fn }) => [fn.max('through').as('through'), fn.sum<number | null>('count').as('count')])
      .executeTakeFirst()
    // An aggregate of no rows is null, which the type of `max` does not say.
    const through = (row?.through ?? null) as number | null
    return through === null || through <= after ? null : { through, count: row?.count ?? 0 }
  }

  /** The number of the last event: where one begins who wants only what comes. */
  async head(): Promise<number> {
    const row = await this.#parts.database.query.selectFrom('event_sequence').select('value').executeTakeFirstOrThrow()
    return row.value
  }

  /**
   * Pages as they come, none of them empty, until the signal aborts, the store closes or the reader stops. A slow reader is never buffered for: it
   * reads on from where it is, and learns from `dropped` when retention overtook it. Not inside a transaction.
   */
  async *follow(options: FollowOptions = {}): AsyncGenerator<EventPage> {
    const { signal, pollMs = DEFAULT_POLL_MS } = options
    let after = options.after ?? 0
    while (signal?.aborted !== true && !this.#parts.wakeUps.closed) {
      const wakeUp = this.#parts.wakeUps.next()
      try {
        const page = await this.page({ ...options, after, limit: EVENT_LIMIT.maximum })
        if (page.events.length === 0 && page.dropped === null) {
          await waitForWakeUp(wakeUp, pollMs, signal)
          continue
        }
        after = Math.max(page.next, page.events.length === 0 ? (page.dropped?.through ?? 0) : 0)
        yield page
      } catch (error) {
        // The store was closed under the read.
        if (!this.#parts.wakeUps.closed) throw error
      } finally {
        wakeUp.cancel()
      }
    }
  }

  /** Whether what is kept of a sandbox is what was written. `sandbox_not_found` for another tenant's. */
  verify(tenantId: string, sandboxId: string): Promise<RecordVerdict> {
    return verifyRecord(this.#parts.database, this.#parts.signer, tenantId, sandboxId)
  }

  /** Applies the bounds and says what it took. */
  prune(retention: Retention): Promise<DroppedEvents> {
    return pruneEvents(this.#parts.database, this.#parts.sources.now(), retention)
  }

  /** The bound of one sandbox, between two rounds of `prune`. */
  async pruneSandbox(tenantId: string, sandboxId: string, maximum: number): Promise<void> {
    await pruneGroup(this.#parts.database, { tenantId, sandboxId }, maximum)
  }
}
