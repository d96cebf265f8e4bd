import type { EventView } from '@hearth/contract'
import { itemsOf } from './checks.ts'
import { HearthError } from './hearth-error.ts'
import type { Connection } from './sandboxes/sandbox-client.ts'
import { jsonEvents, type JsonEvent } from './streams/json-events.ts'
import { Cancellation } from './transport/cancellation.ts'
import type { HttpClient } from './transport/http-client.ts'
import { brokenStream, Persistence } from './transport/persistence.ts'

/**
 * Something that happened to a sandbox or to the server. The type `dropped` is of this kind too: the follower was too slow or came too late, and of
 * the events up to `seq` so many (`data.count`) are gone.
 */
export interface HearthEvent {
  /** Grows with time; `after` takes it. */
  readonly seq: number
  readonly at: Date
  readonly sandbox: string | null
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
  /** Of this event and all before it of its sandbox. */
  readonly hash: string | null
}

export interface EventQuery {
  /** Of this sandbox alone. */
  readonly sandbox?: string
  /** Only events with a larger `seq`. */
  readonly after?: number
  readonly signal?: AbortSignal
}

export interface EventPage {
  readonly items: HearthEvent[]
  /** For the next page, as `after`. */
  readonly next: number
  /** Set when events after the asked position are gone: up to `through` so many are missing. */
  readonly dropped: { readonly through: number; readonly count: number } | null
}

/** Which events a page has. */
export interface EventPageQuery extends EventQuery {
  /** So many from `after` on. Default 100, at most 1000. */
  readonly limit?: number
  /** The newest instead, so many of them. At most 1000. */
  readonly last?: number
  /** With `last`: the newest of those with a smaller `seq`. */
  readonly before?: number
}

export async function eventPage(http: HttpClient, query: EventPageQuery): Promise<EventPage> {
  const { sandbox, after, limit, last, before, signal } = query
  const page = await http.json<Pick<EventPage, 'next' | 'dropped'>>({
    method: 'GET',
    path: '/events',
    query: { sandbox, after, limit, last, before },
    signal,
  })
  return { items: itemsOf<EventView>(page).map(hearthEvent), next: page.next, dropped: page.dropped }
}

/** Events over as many connections as it takes, each once and in order. */
export async function* followEvents(connection: Connection, query: EventQuery): AsyncGenerator<HearthEvent, void> {
  const { http, reconnectMs } = connection
  const cancellation = new Cancellation(query.signal)
  const { signal } = cancellation
  const persistence = new Persistence(reconnectMs, signal)
  const headers = { accept: 'text/event-stream' }
  let { after } = query
  try {
    for (;;) {
      try {
        const { sandbox } = query
        const answer = await http.send({ method: 'GET', path: '/events', query: { sandbox, after }, headers, signal })
        for await (const event of jsonEvents(answer)) {
          persistence.progressed()
          const seen = followed(event)
          if (seen.kind === 'event' && after !== undefined && seen.event.seq <= after) continue
          if (seen.kind !== 'dropped') after = seen.after
          if (seen.kind !== 'position') yield seen.event
        }
        throw brokenStream('events')
      } catch (error) {
        await persistence.afterFailure(error)
      }
    }
  } finally {
    cancellation.release()
  }
}

type Followed =
  | { readonly kind: 'event'; readonly event: HearthEvent; readonly after: number }
  /** Where a stream begins that was asked for no position: without it, a break before the first event would lose some. */
  | { readonly kind: 'position'; readonly after: number }
  /** Some of the events before `through` are gone; others may still come. */
  | { readonly kind: 'dropped'; readonly event: HearthEvent }

function followed(event: JsonEvent): Followed {
  const { type, seq, after, through, count } = event
  if (type === 'following' && isPosition(after)) return { kind: 'position', after }
  if (type === 'dropped' && isPosition(through)) {
    return {
      kind: 'dropped',
      event: { seq: through, at: new Date(), sandbox: null, type, data: { count }, hash: null },
    }
  }
  if (!isPosition(seq) || typeof type !== 'string') {
    throw new HearthError('protocol_violation', 'an event of the stream is not complete')
  }
  return { kind: 'event', event: hearthEvent(event as unknown as EventView), after: seq }
}

function isPosition(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function hearthEvent(view: EventView): HearthEvent {
  return { ...view, at: new Date(view.at) }
}
