import { HearthError } from '@hearth/contract'
import { fromE2bId } from '../ids.ts'
import type { Answer, Call, Route } from './call.ts'
import { isPaused, RUNNING_STATES } from './views.ts'

/** What sandboxes use. */
export const OBSERVING_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/sandboxes/{id}/metrics',
    name: 'e2b.sandbox.metrics',
    scope: 'sandbox:read',
    handle: metrics,
  },
  {
    method: 'GET',
    path: '/sandboxes/metrics',
    name: 'e2b.sandbox.metrics_of_several',
    scope: 'sandbox:read',
    handle: metricsOfSeveral,
  },
]

const MOST_SANDBOXES = 100

/** One sample, taken now; none when the range does not hold it or the sandbox is paused. */
async function metrics(call: Call): Promise<Answer> {
  const { caller, plane } = call
  const start = call.integer('start', 0, 1e12) ?? 0
  const end = call.integer('end', 0, 1e12) ?? Infinity
  const view = await plane.get(caller, call.sandboxId)
  const now = Math.floor(Date.now() / 1000)
  if (now < start || now > end || isPaused(view)) return { status: 200, json: [] }
  return { status: 200, json: [await sample(call, view.id)] }
}

/** By their identifiers; what does not run, or is not there, has none. */
async function metricsOfSeveral(call: Call): Promise<Answer> {
  const asked = [...new Set((call.query.get('sandbox_ids') ?? '').split(',').filter((id) => id !== ''))]
  if (asked.length === 0 || asked.length > MOST_SANDBOXES) {
    throw new HearthError('invalid_request', `sandbox_ids: must name 1 to ${MOST_SANDBOXES} sandboxes`)
  }
  const found = await Promise.all(asked.map(async (id) => [id, await sampleOf(call, id)] as const))
  return { status: 200, json: { sandboxes: Object.fromEntries(found.filter(([, metric]) => metric !== null)) } }
}

async function sampleOf(call: Call, id: string): Promise<object | null> {
  try {
    const { id: own, state } = await call.plane.get(call.caller, fromE2bId(id))
    return RUNNING_STATES.includes(state) ? await sample(call, own) : null
  } catch (error) {
    if (HearthError.isInstance(error) && ['sandbox_not_found', 'sandbox_ended'].includes(error.code)) return null
    throw error
  }
}

async function sample({ caller, e2b, plane }: Call, id: string): Promise<object> {
  using use = await plane.use(caller, id)
  const { at, ...usage } = await e2b.usage.of(use.sandbox)
  const time = { timestamp: at.toISOString(), timestampUnix: Math.floor(at.getTime() / 1000) }
  return { ...time, ...usage, memCache: 0 }
}
