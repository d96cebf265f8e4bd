import { z } from '@hono/zod-openapi'
import { HearthError } from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { bearerToken } from '../access/key-cache.ts'
import { requireScope } from '../access/scopes.ts'
import { describeRoute, jsonAnswer, openApiDocument } from '../openapi.ts'
import { version } from '../version.ts'

const LOOPBACK_ADDRESS = /^(127\.|::1$|::ffff:127\.)/
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i

export function systemRoutes(app: App, services: Services): void {
  const state = z.object({ status: z.literal('ok'), version: z.string() })
  const health = describeRoute(
    { name: 'system.health', summary: 'The process answers', scope: null, public: true },
    { method: 'get', path: '/health', responses: { 200: jsonAnswer(state, 'It does.') } },
  )
  app.openapi(health, (context) => context.json({ status: 'ok' as const, version: version() }, 200))

  const ready = describeRoute(
    { name: 'system.ready', summary: 'The server can do its work', scope: null, public: true },
    { method: 'get', path: '/ready', responses: { 200: jsonAnswer(state, 'It can.') } },
  )
  app.openapi(ready, async (context) => {
    await services.ready()
    return context.json({ status: 'ok' as const, version: version() }, 200)
  })

  const metrics = describeRoute(
    {
      name: 'system.metrics',
      summary: 'Metrics for Prometheus, from loopback or with an operator key',
      scope: null,
      public: true,
    },
    {
      method: 'get',
      path: '/metrics',
      responses: { 200: { description: 'Text format.', content: { 'text/plain': { schema: z.string() } } } },
    },
  )
  app.openapi(metrics, async (context) => {
    await requireOperator(context, services)
    const { registry } = services.metrics
    return context.body(await registry.metrics(), 200, { 'content-type': registry.contentType }) as never
  })

  let document: string | null = null
  const description = describeRoute(
    { name: 'system.openapi', summary: 'This description', scope: null, public: true },
    {
      method: 'get',
      path: '/openapi.json',
      responses: { 200: jsonAnswer(z.object({ openapi: z.string() }), 'OpenAPI 3.1.') },
    },
  )
  app.openapi(description, (context) => {
    document ??= JSON.stringify(openApiDocument(app))
    return context.body(document, 200, { 'content-type': 'application/json' }) as never
  })
}

/** The host name is looked at too: a web page can make its own name point to loopback. */
async function requireOperator(context: AppContext, services: Services): Promise<void> {
  const { incoming } = context.env
  const authorization = context.req.header('authorization')
  if (authorization === undefined) {
    const local =
      LOOPBACK_ADDRESS.test(incoming.socket.remoteAddress ?? '') && LOOPBACK_HOST.test(incoming.headers.host ?? '')
    if (local) return
    throw new HearthError('unauthorized', 'from elsewhere than loopback a key is needed')
  }
  const operation = context.get('operation')
  const key = await services.access.verify(bearerToken(authorization), incoming)
  requireScope(services.access.caller(key, operation).scopes, 'operator')
}
