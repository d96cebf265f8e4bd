import { z } from '@hono/zod-openapi'
import {
  HearthError,
  pageSchema,
  putSecretSchema,
  secretNameSchema,
  secretViewSchema,
  type SecretView,
} from '@hearth/contract'
import type { StoredSecret } from '../../state/index.ts'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, pageOptions, pageQuery } from '../openapi.ts'

const parameters = z.object({ name: z.string() })
const oneSecret = { 200: jsonAnswer(secretViewSchema, 'The secret, without its value.') } as const

/** The secrets of the tenant. What comes in as a value never goes out by any route. */
export function secretRoutes(app: App, services: Services): void {
  const { secrets } = services
  const list = describeRoute(
    { name: 'secret.list', summary: 'List the secrets of the tenant, without their values', scope: 'secrets' },
    {
      method: 'get',
      path: '/v1/secrets',
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(secretViewSchema), 'One page, by name.') },
    },
  )
  app.openapi(list, async (context) => {
    const page = pageOptions(context.req.valid('query'))
    const { items, next } = await secrets.list(context.get('caller').tenantId, page)
    return context.json({ items: items.map(secretView), next }, 200)
  })

  const get = describeRoute(
    { name: 'secret.get', summary: 'Where a secret may go; never its value', scope: 'secrets' },
    { method: 'get', path: '/v1/secrets/{name}', request: { params: parameters }, responses: oneSecret },
  )
  app.openapi(get, async (context) => {
    const found = await secrets.get(context.get('caller').tenantId, knownForm(context))
    return context.json(secretView(found), 200)
  })

  const put = describeRoute(
    {
      name: 'secret.put',
      summary: 'Store a secret, or replace the one of that name, at once for sandboxes that use it',
      scope: 'secrets',
      before: boundedJson(services.limits),
    },
    {
      method: 'put',
      path: '/v1/secrets/{name}',
      request: { params: z.object({ name: secretNameSchema }), ...jsonBody(putSecretSchema) },
      responses: oneSecret,
    },
  )
  app.openapi(put, async (context) => {
    const { name } = context.req.valid('param')
    const { tenantId } = context.get('caller')
    const stored = await secrets.put(tenantId, { name, ...context.req.valid('json') })
    await services.controlPlane.policies.secretChanged(tenantId, name)
    return context.json(secretView(stored), 200)
  })

  const remove = describeRoute(
    { name: 'secret.remove', summary: 'Remove a secret, at once for sandboxes that use it', scope: 'secrets' },
    { method: 'delete', path: '/v1/secrets/{name}', request: { params: parameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    const { tenantId } = context.get('caller')
    const name = knownForm(context)
    await secrets.remove(tenantId, name)
    await services.controlPlane.policies.secretChanged(tenantId, name)
    return context.body(null, 204)
  })
}

/** A name that cannot be one is the same as one of nobody's. */
function knownForm(context: AppContext): string {
  const parsed = secretNameSchema.safeParse(context.req.param('name') ?? '')
  if (parsed.success) return parsed.data
  throw new HearthError('secret_not_found', 'there is no such secret')
}

function secretView({ name, binding, createdAt, updatedAt }: StoredSecret): SecretView {
  return { name, binding, createdAt: new Date(createdAt).toISOString(), updatedAt: new Date(updatedAt).toISOString() }
}
