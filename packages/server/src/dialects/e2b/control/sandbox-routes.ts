import { HearthError } from '@hearth/contract'
import { z } from 'zod'
import type { Answer, Call, Route } from './call.ts'
import { createSandbox, timeoutSchema } from './create.ts'
import { listSandboxes } from './list.ts'
import { networkUpdateSchema, policyOf } from './network.ts'
import { endAfter, putToSleep, wakeUp } from './sleeping.ts'
import { detailedSandbox, endOf, isPaused, reachableSandbox, RUNNING_STATES } from './views.ts'

const connectSchema = z.object({ timeout: timeoutSchema.nullish(), memory: z.boolean().nullish() })
const pauseSchema = z.object({ memory: z.boolean().nullish() })
const DEFAULT_TIMEOUT = 300

const read = 'sandbox:read' as const
const write = 'sandbox:write' as const

/** The life of sandboxes, on the paths of all versions of E2B's clients. */
export const SANDBOX_ROUTES: readonly Route[] = [
  route('POST', '/sandboxes', 'create', write, (call) => createSandbox(call, 1)),
  route('POST', '/v2/sandboxes', 'create', write, (call) => createSandbox(call, 2)),
  route('GET', '/sandboxes', 'list', read, (call) => listSandboxes(call, RUNNING_STATES)),
  route('GET', '/v2/sandboxes', 'list', read, (call) => listSandboxes(call, null)),
  route('GET', '/sandboxes/{id}', 'get', read, getSandbox),
  route('DELETE', '/sandboxes/{id}', 'delete', write, deleteSandbox),
  route('POST', '/sandboxes/{id}/connect', 'connect', write, connectSandbox),
  route('POST', '/v2/sandboxes/{id}/connect', 'connect', write, connectSandbox),
  route('POST', '/sandboxes/{id}/resume', 'resume', write, resumeSandbox),
  route('POST', '/sandboxes/{id}/pause', 'pause', write, pauseSandbox),
  route('POST', '/sandboxes/{id}/timeout', 'timeout', write, setTimeoutOf),
  route('POST', '/sandboxes/{id}/refreshes', 'refresh', write, refreshSandbox),
  route('PUT', '/sandboxes/{id}/network', 'network', write, updateNetwork),
]

function route(method: string, path: string, name: string, scope: Route['scope'], handle: Route['handle']): Route {
  return { method, path, name: `e2b.sandbox.${name}`, scope, handle }
}

async function getSandbox(call: Call): Promise<Answer> {
  return { status: 200, json: await detailedSandbox(call.e2b, call.caller, await living(call)) }
}

async function deleteSandbox(call: Call): Promise<Answer> {
  const { id } = await living(call)
  await call.plane.delete(call.caller, id)
  call.e2b.pauses.forget(id)
  return { status: 204 }
}

async function connectSandbox(call: Call): Promise<Answer> {
  const { timeout, memory } = await call.body(connectSchema)
  return await connect(call, timeout ?? DEFAULT_TIMEOUT, memory ?? true)
}

async function resumeSandbox(call: Call): Promise<Answer> {
  const { timeout } = await call.body(connectSchema)
  const view = await living(call)
  if (!isPaused(view)) throw new HearthError('conflict', `sandbox ${view.id} is already running`)
  return await connect(call, timeout ?? DEFAULT_TIMEOUT, true)
}

/** Its time is extended, never cut. */
async function connect(call: Call, seconds: number, memory: boolean): Promise<Answer> {
  const { caller, e2b, plane } = call
  const before = await living(call)
  const paused = isPaused(before)
  const view = await e2b.pauses.waking(before.id, async () => {
    const awake = paused ? await wakeUp(plane, caller, before, memory) : before
    const isLonger = !paused && endOf(awake) >= Date.now() + seconds * 1000
    return isLonger ? awake : await endAfter(plane, caller, awake, seconds * 1000)
  })
  e2b.pauses.watch(caller.tenantId, view)
  return { status: paused ? 201 : 200, json: reachableSandbox(e2b, caller, view) }
}

async function pauseSandbox(call: Call): Promise<Answer> {
  const { memory } = await call.body(pauseSchema)
  const view = await living(call)
  if (isPaused(view)) throw new HearthError('conflict', `sandbox ${view.id} is already paused`)
  await putToSleep(call.plane, call.caller, view, memory ?? true)
  call.e2b.pauses.forget(view.id)
  return { status: 204 }
}

async function setTimeoutOf(call: Call): Promise<Answer> {
  const { timeout } = await call.body(z.object({ timeout: timeoutSchema }))
  const view = await endAfter(call.plane, call.caller, await living(call), timeout * 1000)
  call.e2b.pauses.watch(call.caller.tenantId, view)
  return { status: 204 }
}

/** Replaces what it may reach; with nothing, by what is usual. */
async function updateNetwork(call: Call): Promise<Answer> {
  const { allow_internet_access: internet, ...network } = await call.body(networkUpdateSchema)
  const view = await living(call)
  if (isPaused(view)) throw new HearthError('conflict', `sandbox ${view.id} is paused`)
  const policy = policyOf(network, internet ?? null) ?? call.e2b.policy ?? {}
  await call.plane.policies.set(call.caller, view.id, policy)
  return { status: 204 }
}

/** Older clients: at least 15 seconds more, and never less than it has. */
async function refreshSandbox(call: Call): Promise<Answer> {
  const { duration } = await call.body(z.object({ duration: timeoutSchema.nullish() }))
  const milliseconds = Math.max(15, duration ?? 0) * 1000
  const view = await living(call)
  if (endOf(view) >= Date.now() + milliseconds) return { status: 204 }
  call.e2b.pauses.watch(call.caller.tenantId, await endAfter(call.plane, call.caller, view, milliseconds))
  return { status: 204 }
}

/** One that has ended is shown by the native API for a while; here it is one that is not there. */
async function living(call: Call) {
  const view = await call.plane.get(call.caller, call.sandboxId)
  if (isPaused(view) || RUNNING_STATES.includes(view.state)) return view
  throw new HearthError(
    'sandbox_not_found',
    `Sandbox "${call.parameter('id')}" doesn't exist or you don't have access to it`,
  )
}
