import { z } from '@hono/zod-openapi'
import {
  createSandboxSchema,
  pageSchema,
  renewSchema,
  rungSchema,
  rungViewSchema,
  sandboxStateSchema,
  sandboxViewSchema,
  statsViewSchema,
  type GrantRequest,
} from '@hearth/contract'
import type { SandboxKey } from '../../control-plane.ts'
import { planDelegation } from '../access/delegation.ts'
import type { App, AppContext, Services } from '../app-env.ts'
import { requireScope } from '../access/scopes.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { metadataFilter } from '../metadata-filter.ts'
import {
  describeRoute,
  idempotencyHeaders,
  jsonAnswer,
  jsonBody,
  noContent,
  queryInteger,
  sandboxParameters,
} from '../openapi.ts'
import { sandboxId, withSandbox } from '../sandbox-use.ts'

const oneSandbox = { 200: jsonAnswer(sandboxViewSchema, 'The sandbox.') } as const

export function sandboxRoutes(app: App, services: Services): void {
  const { controlPlane, limits } = services
  const before = boundedJson(limits)

  const create = describeRoute(
    { name: 'sandbox.create', summary: 'Create a sandbox', scope: 'sandbox:write', before },
    {
      method: 'post',
      path: '/v1/sandboxes',
      request: { ...jsonBody(createSandboxSchema), headers: idempotencyHeaders },
      responses: { 201: jsonAnswer(sandboxViewSchema, 'The sandbox runs.') },
    },
  )
  app.openapi(create, async (context) => {
    const request = context.req.valid('json')
    const caller = context.get('caller')
    if (request.persistent === true) requireScope(caller.scopes, 'sandbox:persistent')
    if (request.workspace !== undefined) requireScope(caller.scopes, 'workspaces')
    const operation = context.get('operation')
    const { 'idempotency-key': idempotencyKey = null } = context.req.valid('header')
    const options = { idempotencyKey, signal: operation.signal, key: keyOfOwn(context, request.delegate) }
    const made = controlPlane.create(caller, request, options).then((view) => {
      operation.sandboxId = view.id
      return view
    })
    return await answerPatiently(context, services, 201, made)
  })

  const list = describeRoute(
    { name: 'sandbox.list', summary: 'List sandboxes; `metadata.KEY=VALUE` filters, too', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/sandboxes',
      request: {
        query: z.object({
          limit: queryInteger(1, 1000).optional(),
          cursor: z.string().max(256).optional(),
          state: sandboxStateSchema.optional(),
          rung: rungSchema.optional(),
        }),
      },
      responses: { 200: jsonAnswer(pageSchema(sandboxViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null, state = null, rung = null } = context.req.valid('query')
    const query = { limit, cursor, state, rung, metadata: metadataFilter(context) }
    const page = await controlPlane.list(context.get('caller'), query)
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  viewRoutes(app, services)
  lifeRoutes(app, services)
  observingRoutes(app, services)
}

/** The key that a new sandbox is to have for itself, as a part of the caller's. */
function keyOfOwn(context: AppContext, grant: GrantRequest | undefined): SandboxKey | null {
  if (grant === undefined) return null
  requireScope(context.get('caller').scopes, 'keys')
  const maker = context.get('key')
  return { maker, key: planDelegation(maker, { name: 'sandbox', grant, expiresAt: null }) }
}

/** Calls that take a sandbox alone, and answer with what it is then. */
const VIEWS = [
  { verb: 'get', summary: 'Get a sandbox', scope: 'sandbox:read', method: 'get', below: '' },
  { verb: 'pause', summary: 'Freeze all processes', scope: 'sandbox:write', method: 'post', below: '/pause' },
  { verb: 'resume', summary: 'Thaw all processes', scope: 'sandbox:write', method: 'post', below: '/resume' },
  {
    verb: 'stop',
    summary: 'End a sandbox; it can still be looked at for a while',
    scope: 'sandbox:write',
    method: 'post',
    below: '/stop',
  },
] as const

function viewRoutes(app: App, { controlPlane }: Services): void {
  for (const { verb, summary, scope, method, below } of VIEWS) {
    const route = describeRoute(
      { name: `sandbox.${verb}`, summary, scope },
      { method, path: `/v1/sandboxes/{id}${below}`, request: { params: sandboxParameters }, responses: oneSandbox },
    )
    app.openapi(route, async (context) =>
      context.json(await controlPlane[verb](context.get('caller'), sandboxId(context)), 200),
    )
  }
}

function lifeRoutes(app: App, { controlPlane, limits }: Services): void {
  const remove = describeRoute(
    { name: 'sandbox.delete', summary: 'End a sandbox and remove it', scope: 'sandbox:write' },
    { method: 'delete', path: '/v1/sandboxes/{id}', request: { params: sandboxParameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    await controlPlane.delete(context.get('caller'), sandboxId(context))
    return context.body(null, 204)
  })

  const renew = describeRoute(
    { name: 'sandbox.renew', summary: 'Move the deadline', scope: 'sandbox:write', before: boundedJson(limits) },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/renew',
      request: { params: sandboxParameters, ...jsonBody(renewSchema) },
      responses: oneSandbox,
    },
  )
  app.openapi(renew, async (context) => {
    const { ttlMs } = context.req.valid('json')
    return context.json(await controlPlane.renew(context.get('caller'), sandboxId(context), ttlMs), 200)
  })
}

function observingRoutes(app: App, services: Services): void {
  const { controlPlane } = services
  const stats = describeRoute(
    { name: 'sandbox.stats', summary: 'What a sandbox uses', scope: 'sandbox:read' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/stats',
      request: { params: sandboxParameters },
      responses: { 200: jsonAnswer(statsViewSchema, 'Usage now.') },
    },
  )
  app.openapi(stats, async (context) => {
    return context.json(await withSandbox(services, context, (sandbox) => sandbox.stats()), 200)
  })

  const rungs = describeRoute(
    { name: 'rung.list', summary: 'What works on this host', scope: null },
    {
      method: 'get',
      path: '/v1/rungs',
      responses: { 200: jsonAnswer(z.object({ items: z.array(rungViewSchema) }), 'All rungs, weakest first.') },
    },
  )
  app.openapi(rungs, async (context) => {
    const listed = controlPlane
      .rungs()
      .then((found) => ({ items: structuredClone(found) as z.output<typeof rungViewSchema>[] }))
    return await answerPatiently(context, services, 200, listed)
  })
}
