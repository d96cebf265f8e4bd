import { HearthError } from '@hearth/contract'
import type { EventFilter, StoredEvent } from '../../../state/index.ts'
import { fromE2bId, toE2bId } from '../ids.ts'
import type { Answer, Call, Route } from './call.ts'
import { isPaused } from './views.ts'

/** Our events and what E2B calls them. */
const EVENT_TYPES: Readonly<Record<string, string>> = {
  'sandbox.created': 'sandbox.lifecycle.created',
  'sandbox.paused': 'sandbox.lifecycle.paused',
  'sandbox.hibernated': 'sandbox.lifecycle.paused',
  'sandbox.resumed': 'sandbox.lifecycle.resumed',
  'sandbox.woken': 'sandbox.lifecycle.resumed',
  'sandbox.stopped': 'sandbox.lifecycle.killed',
  'sandbox.failed': 'sandbox.lifecycle.killed',
  'sandbox.deleted': 'sandbox.lifecycle.killed',
  'snapshot.created': 'sandbox.lifecycle.checkpointed',
  'sandbox.forked': 'sandbox.lifecycle.checkpointed',
}
const MOST_READ = 10_000

/** Usage and what happened. */
export const OBSERVING_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/sandboxes/{id}/metrics',
    name: 'e2b.sandbox.metrics',
    scope: 'sandbox:read',
    handle: metrics,
  },
  { method: 'GET', path: '/events/sandboxes', name: 'e2b.event.list', scope: 'sandbox:read', handle: events },
  { method: 'GET', path: '/events/sandboxes/{id}', name: 'e2b.event.list', scope: 'sandbox:read', handle: events },
]

/** One sample, taken now; none when the range does not hold it or the sandbox is paused. */
async function metrics(call: Call): Promise<Answer> {
  const { caller, e2b, plane } = call
  const start = call.integer('start', 0, 1e12) ?? 0
  const end = call.integer('end', 0, 1e12) ?? Infinity
  const view = await plane.get(caller, call.sandboxId)
  const now = Math.floor(Date.now() / 1000)
  if (now < start || now > end || isPaused(view)) return { status: 200, json: [] }
  using use = await plane.use(caller, view.id)
  const { at, ...usage } = await e2b.usage.of(use.sandbox)
  const time = { timestamp: at.toISOString(), timestampUnix: Math.floor(at.getTime() / 1000) }
  return { status: 200, json: [{ ...time, ...usage, memCache: 0 }] }
}

async function events(call: Call): Promise<Answer> {
  const offset = call.integer('offset', 0, MOST_READ) ?? 0
  const limit = call.integer('limit', 1, 100) ?? 10
  const types = call.query.getAll('types').flatMap((value) => value.split(','))
  const known = Object.values(EVENT_TYPES)
  const wrong = types.find((type) => !known.includes(type))
  if (wrong !== undefined) throw new HearthError('invalid_request', `types: there is no ${wrong.slice(0, 64)}`)
  const id = call.parameter('id')
  const filter: EventFilter = {
    tenantId: call.caller.tenantId,
    ...(id === '' ? {} : { sandboxId: fromE2bId(id) }),
  }
  const all = (await collect(call, filter)).filter(({ type }) => types.length === 0 || types.includes(type))
  const ordered = call.query.get('orderAsc') === 'true' ? all : all.reverse()
  return { status: 200, json: ordered.slice(offset, offset + limit) }
}

async function collect(call: Call, filter: EventFilter): Promise<{ readonly type: string }[]> {
  const found: ReturnType<typeof eventView>[] = []
  for (let after = 0; found.length < MOST_READ;) {
    const page = await call.e2b.services.events.page({ ...filter, after, limit: 1000 })
    found.push(...page.events.filter(({ type }) => type in EVENT_TYPES).map((event) => eventView(event)))
    if (page.events.length < 1000) break
    after = page.next
  }
  return found
}

function eventView(event: StoredEvent) {
  return {
    version: 'v2',
    id: String(event.seq),
    type: EVENT_TYPES[event.type] ?? event.type,
    eventData: event.data,
    sandboxId: event.sandboxId === null ? null : toE2bId(event.sandboxId),
    sandboxTeamId: event.tenantId,
    timestamp: new Date(event.at).toISOString(),
  }
}
