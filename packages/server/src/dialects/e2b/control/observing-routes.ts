import type { Answer, Call, Route } from './call.ts'
import { isPaused } from './views.ts'

/** What sandboxes use. */
export const OBSERVING_ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/sandboxes/{id}/metrics',
    name: 'e2b.sandbox.metrics',
    scope: 'sandbox:read',
    handle: metrics,
  },
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
