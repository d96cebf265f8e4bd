import { BOUNDS, HearthError, type CreateSandbox, type SandboxView } from '@hearth/contract'
import { z } from 'zod'
import { requireScope } from '../../http/access/scopes.ts'
import { LONGEST_COMMAND_MS } from '../command-time.ts'
import { reachOf } from '../network-choice.ts'
import { rungOf } from '../rung-choice.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'
import { rootOf } from './templates.ts'
import { mountsOf, volumesSchema } from './volume-routes.ts'
import { isListed, sandboxView, TEMPLATE_KEY, withoutSecrets } from './views.ts'

const PAGE = 1000
const secondsSchema = z
  .number()
  .min(0)
  .max(BOUNDS.maximumTtlMs / 1000)

const metadataSchema = z.record(z.string().max(64), z.string().max(1024))

const createSchema = z.object({
  template: z.string().max(512).nullish(),
  from_snapshot: z.string().max(64).nullish(),
  ttl_seconds: secondsSchema.nullish(),
  persistent: z.boolean().nullish(),
  metadata: metadataSchema.nullish(),
  volumes: volumesSchema.nullish(),
})

/** The life of sandboxes. */
export const SANDBOX_ROUTES: readonly Route[] = routes('sandbox', {
  'POST /sandboxes': ['sandbox:write', create],
  'GET /sandboxes': ['sandbox:read', list],
  'GET /sandboxes/{id}': ['sandbox:read', async (call) => shown(await call.plane.get(call.caller, call.sandboxId))],
  'DELETE /sandboxes/{id}': ['sandbox:write', remove],
  'POST /sandboxes/{id}/pause': ['sandbox:write', (call) => done(call.plane.pause(call.caller, call.sandboxId))],
  'POST /sandboxes/{id}/resume': ['sandbox:write', (call) => done(call.plane.resume(call.caller, call.sandboxId))],
  'POST /sandboxes/{id}/hibernate': ['sandbox:write', hibernate],
  'POST /sandboxes/{id}/stop': ['sandbox:write', hibernate],
  'POST /sandboxes/{id}/wake': ['sandbox:write', wake],
  'POST /sandboxes/{id}/start': ['sandbox:write', wake],
  'GET /sandboxes/{id}/lifecycle': [
    'sandbox:read',
    async (call) => lifecycle(await call.plane.get(call.caller, call.sandboxId)),
  ],
  'PATCH /sandboxes/{id}/lifecycle': ['sandbox:write', changeLifecycle],
})

async function create(call: Call): Promise<Answer> {
  const body = await call.body(createSchema)
  if (body.persistent === true && !body.ttl_seconds) requireScope(call.caller.scopes, 'sandbox:persistent')
  const asked = body.template ?? 'ubuntu-24.04'
  const root = body.from_snapshot ? { from: body.from_snapshot } : await rootOf(call, asked)
  const request: CreateSandbox = {
    ...root,
    ...rungOf(body.metadata ?? {}),
    ...reachOf(body.metadata ?? {}, call.policy),
    ...(body.ttl_seconds ? { ttlMs: Math.max(1000, Math.ceil(body.ttl_seconds * 1000)) } : {}),
    ...(body.persistent === true && !body.ttl_seconds ? { persistent: true } : {}),
    ...mountsOf(body.volumes ?? []),
    limits: { wallTimeMs: LONGEST_COMMAND_MS },
    // The vendor's commands are root's: programs make directories wherever they like.
    user: 'root',
    metadata: { ...body.metadata, [TEMPLATE_KEY]: asked },
  }
  if (request.from === undefined) await call.roots.wait(call.caller.scopes, request, call.services.limits.patienceMs)
  const view = await call.plane.create(call.caller, request, call.keyed)
  call.operation.sandboxId = view.id
  return { status: 201, json: withoutSecrets(sandboxView(view)) }
}

async function list(call: Call): Promise<Answer> {
  const found: SandboxView[] = []
  let cursor: string | null = null
  do {
    const query = { limit: PAGE, cursor, state: null, rung: null, metadata: {} }
    const page: { readonly items: readonly SandboxView[]; readonly next: string | null } = await call.plane.list(
      call.caller,
      query,
    )
    found.push(...page.items.filter(isListed))
    cursor = page.next
  } while (cursor !== null)
  return { status: 200, json: found.map((view) => withoutSecrets(sandboxView(view))) }
}

/** One that has gone was not there: clients tell a person so. */
async function remove(call: Call): Promise<Answer> {
  await call.plane.get(call.caller, call.sandboxId)
  await call.plane.delete(call.caller, call.sandboxId)
  return { status: 204 }
}

async function hibernate(call: Call): Promise<Answer> {
  await call.plane.sleep.hibernate(call.caller, call.sandboxId, {})
  return { status: 200, json: { status: 'hibernated' } }
}

async function wake(call: Call): Promise<Answer> {
  await call.plane.sleep.wake(call.caller, call.sandboxId, {})
  return { status: 200, json: { status: 'running' } }
}

const lifecycleSchema = z.object({ ttl_seconds: secondsSchema.nullish(), persistent: z.boolean().nullish() })

/** One without a deadline is one with the latest that there is: whether it has any was decided when it was made. */
async function changeLifecycle(call: Call): Promise<Answer> {
  const { ttl_seconds, persistent } = await call.body(lifecycleSchema)
  const seconds = ttl_seconds ?? (persistent === true ? BOUNDS.maximumTtlMs / 1000 : BOUNDS.defaultTtlMs / 1000)
  if ((ttl_seconds ?? persistent ?? null) === null) throw new HearthError('invalid_request', 'body: nothing to change')
  const view = await call.plane.get(call.caller, call.sandboxId)
  if (view.expiresAt === null) {
    if (persistent === true) return lifecycle(view)
    throw new HearthError('conflict', 'this sandbox was made without a deadline')
  }
  return lifecycle(await call.plane.renew(call.caller, view.id, Math.max(1000, Math.ceil(seconds * 1000))))
}

function lifecycle(view: SandboxView): Answer {
  const left = view.expiresAt === null ? 0 : Math.max(0, Math.round((Date.parse(view.expiresAt) - Date.now()) / 1000))
  return { status: 200, json: { ttl_seconds: left, persistent: view.expiresAt === null, idle_seconds: 0 } }
}

function shown(view: SandboxView): Answer {
  return { status: 200, json: withoutSecrets(sandboxView(view)) }
}

async function done(work: Promise<unknown>): Promise<Answer> {
  await work
  return { status: 204 }
}
