import { HearthError } from '@hearth/contract'
import type { EventFilter, StoredEvent } from '../../../state/index.ts'
import type { Answer, Call, Route } from '../control/call.ts'
import { fromE2bId } from '../ids.ts'
import { Subjects } from './find-events.ts'
import { LIFECYCLE_TYPES, lifecycleEvent, storedTypes, type LifecycleEvent } from './lifecycle-event.ts'

const MOST_SKIPPED = 10_000
const PAGE = 500

const read = 'sandbox:read' as const

/** What happened to sandboxes. */
export const EVENT_ROUTES: readonly Route[] = [
  { method: 'GET', path: '/events/sandboxes', name: 'e2b.event.list', scope: read, handle: events },
  { method: 'GET', path: '/events/sandboxes/{id}', name: 'e2b.event.list', scope: read, handle: events },
]

async function events(call: Call): Promise<Answer> {
  const offset = call.integer('offset', 0, MOST_SKIPPED) ?? 0
  const limit = call.integer('limit', 1, 100) ?? 10
  const asked = call.query.getAll('types').flatMap((value) => value.split(','))
  const types = asked.length === 0 ? LIFECYCLE_TYPES : asked
  requireTypes(types, 'types')
  const id = call.parameter('id')
  const filter: EventFilter = {
    tenantId: call.caller.tenantId,
    types: storedTypes(types),
    ...(id === '' ? {} : { sandboxId: fromE2bId(id) }),
  }
  const ascending = call.query.get('orderAsc') === 'true'
  const found: LifecycleEvent[] = []
  const { services, sandboxes } = call.e2b
  const subjects = new Subjects({ events: services.events, sandboxes })
  for await (const event of stored(call, filter, ascending)) {
    const shown = lifecycleEvent(event, await subjects.of(event))
    if (shown !== null) found.push(shown)
    if (found.length >= offset + limit) break
  }
  return { status: 200, json: found.slice(offset) }
}

/** What is written down, from the beginning or from the end. */
export async function* stored(call: Call, filter: EventFilter, ascending: boolean): AsyncGenerator<StoredEvent, void> {
  for (let at = ascending ? 0 : Number.MAX_SAFE_INTEGER; ;) {
    const where = ascending ? { after: at } : { before: at }
    const page = await call.e2b.services.events.page({ ...filter, ...where, limit: PAGE })
    yield* page.events
    if (page.events.length < PAGE) return
    at = page.next
  }
}

export function requireTypes(types: readonly string[], where: string): void {
  const wrong = types.find((type) => !LIFECYCLE_TYPES.includes(type))
  if (wrong !== undefined) throw new HearthError('invalid_request', `${where}: there is no ${wrong.slice(0, 64)}`)
}
