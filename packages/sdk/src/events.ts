import type { EventView } from '@hearth/contract'
import { HearthError } from './hearth-error.ts'
import type { Connection } from './sandboxes/sandbox-client.ts'
import { jsonEvents, type JsonEvent } from './streams/json-events.ts'
import { Cancellation } from './transport/cancellation.ts'
import type { HttpClient } from './transport/http-client.ts'
import { brokenStream, Persistence } from './transport/persistence.ts'

/** Something that happened to a sandbox or to the server. */
export interface HearthEvent {
  /** Grows with time; `after` takes it. */
  readonly seq: number
  readonly at: Date
  readonly sandbox: string | null
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
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

export async function eventPage(http: HttpClient, query: EventQuery & { readonly limit?: number }): Promise<EventPage> {
  const { sandbox, after, limit, signal } = query
  const page = await http.json<{ items: EventView[]; next: number; dropped: EventPage['dropped'] }>({
    method: 'GET',
    path: '/events',
    query: { sandbox, after, limit },
    signal,
  })
  return { items: page.items.map(hearthEvent), next: page.next, dropped: page.dropped }
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
          const seen = hearthEvent(checkedEvent(event))
          if (after !== undefined && seen.seq <= after) continue
          after = seen.seq
          yield seen
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

function checkedEvent(event: JsonEvent): EventView {
  if (Number.isSafeInteger(event['seq']) && typeof event['type'] === 'string') return event as unknown as EventView
  throw new HearthError('protocol_violation', 'an event of the stream is not complete')
}

function hearthEvent(view: EventView): HearthEvent {
  return { ...view, at: new Date(view.at) }
}
