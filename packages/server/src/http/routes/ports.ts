import { z } from '@hono/zod-openapi'
import { errorBodySchema, HearthError, linkRequestSchema, linkViewSchema } from '@hearth/contract'
import { alreadySent, type App, type AppContext, type Services } from '../app-env.ts'
import { requireScope } from '../access/scopes.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, queryInteger, sandboxParameters } from '../openapi.ts'
import { forwardRequest } from '../previews/forward-request.ts'
import { parsePortPath } from '../previews/port-path.ts'
import { linkUrl } from '../previews/public-address.ts'
import { sandboxId, withSandbox } from '../sandbox-use.ts'

const DEFAULT_LINK_MS = 3_600_000
const METHODS = ['get', 'put', 'post', 'delete', 'patch', 'options'] as const
const portParameters = sandboxParameters.extend({ port: queryInteger(1, 65_535) })

export function portRoutes(app: App, services: Services): void {
  const link = describeRoute(
    {
      name: 'port.link',
      summary: 'A signed address of a port that needs no key',
      scope: 'ports',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/ports/{port}/link',
      request: { params: portParameters, ...jsonBody(linkRequestSchema) },
      responses: {
        201: jsonAnswer(
          linkViewSchema,
          'The address. It ends with its time, with the key that made it, and with the sandbox.',
        ),
      },
    },
  )
  app.openapi(link, async (context) => {
    const { port } = context.req.valid('param')
    const { ttlMs = DEFAULT_LINK_MS, form } = context.req.valid('json')
    const caller = context.get('caller')
    const sandbox = sandboxId(context)
    await services.controlPlane.get(caller, sandbox)
    const expiresAt = Math.min(Date.now() + ttlMs, context.get('key').expiresAt ?? Infinity)
    const target = { sandbox, port }
    const token = services.links.sign({ ...target, expiresAt, tenant: caller.tenantId, key: caller.keyId })
    const url = linkUrl(services, { target, token, form }, context.env.incoming)
    return context.json({ url, expiresAt: new Date(expiresAt).toISOString() }, 201)
  })

  const ready = describeRoute(
    { name: 'port.ready', summary: 'Wait until something listens on a port', scope: 'ports' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/ports/{port}/ready',
      request: { params: portParameters, query: z.object({ timeoutMs: queryInteger(0, 60_000).optional() }) },
      responses: noContent,
    },
  )
  app.openapi(ready, async (context) => {
    const { timeoutMs = 30_000 } = context.req.valid('query')
    const { signal } = context.get('operation')
    const { port } = context.req.valid('param')
    await withSandbox(services, context, (sandbox) => sandbox.port(port).ready({ timeoutMs, signal }))
    return context.body(null, 204)
  })

  forwardingRoute(app, services)
}

/** Everything else below a port is for the program that listens there. */
function forwardingRoute(app: App, services: Services): void {
  const handle = async (context: AppContext): Promise<Response> => {
    const operation = context.get('operation')
    operation.name = 'port.forward'
    requireScope(context.get('caller').scopes, 'ports')
    const { incoming, outgoing } = context.env
    const wanted = parsePortPath(incoming.url ?? '')
    // The router has normalized the path; what is passed on is what was sent, so both must mean the same.
    if (
      wanted === null ||
      wanted.sandbox !== context.req.param('id') ||
      String(wanted.port) !== context.req.param('port')
    ) {
      throw new HearthError('invalid_request', 'the path of a port must be /v1/sandboxes/ID/ports/PORT/...')
    }
    operation.sandboxId = sandboxId(context)
    const { port, path } = wanted
    await withSandbox(services, context, (sandbox) =>
      forwardRequest({ services, incoming, sandbox, port, path, mode: 'path', signal: operation.signal }, outgoing),
    )
    return alreadySent()
  }
  app.all('/v1/sandboxes/:id/ports/:port', handle)
  app.all('/v1/sandboxes/:id/ports/:port/*', handle)
  for (const method of METHODS) {
    app.openAPIRegistry.registerPath({
      method,
      path: '/v1/sandboxes/{id}/ports/{port}/{path}',
      operationId: `port.forward.${method}`,
      summary: 'HTTP to a port inside; a WebSocket works, too',
      tags: ['port'],
      security: [{ key: ['ports'] }],
      request: { params: z.object({ id: z.string(), port: queryInteger(1, 65_535), path: z.string() }) },
      responses: {
        default: {
          description: 'What the program answers, or an error of Hearth.',
          content: { 'application/json': { schema: errorBodySchema } },
        },
      },
    })
  }
}
