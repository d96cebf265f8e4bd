import { z } from '@hono/zod-openapi'
import { createKeySchema, HearthError, newKeySchema } from '@hearth/contract'
import { requireWithin } from '../access/scopes.ts'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, pageOptions, pageQuery } from '../openapi.ts'
import { keyView, pageOfKeys, revokeKey } from './keys.ts'
import { tenantParameters } from './tenants.ts'

/** For operators alone: the keys of any tenant. */
export function tenantKeyRoutes(app: App, services: Services): void {
  const { tenants, keys, limits } = services
  const create = describeRoute(
    { name: 'tenant.key', summary: 'Make a key of a tenant', scope: 'operator', before: boundedJson(limits) },
    {
      method: 'post',
      path: '/v1/tenants/{tenant}/keys',
      request: { params: tenantParameters, ...jsonBody(createKeySchema) },
      responses: { 201: jsonAnswer(newKeySchema, 'The only answer that holds the key itself.') },
    },
  )
  app.openapi(create, async (context) => {
    const { name, scopes = ['admin'], expiresInMs, grant } = context.req.valid('json')
    if (grant !== undefined) {
      throw new HearthError('invalid_request', 'grant: a key is delegated by a key of its own tenant', {
        suggestion: 'Make a key without `grant`, and delegate with that one.',
      })
    }
    requireWithin(context.get('caller').scopes, scopes, 'the new key')
    const tenant = await tenants.get(context.req.valid('param').tenant)
    const expiresAt = expiresInMs === undefined ? null : Date.now() + expiresInMs
    const made = await keys.create({ tenantId: tenant.id, name, scopes, expiresAt })
    return context.json({ ...keyView(made.key), key: made.token }, 201)
  })

  const list = describeRoute(
    { name: 'tenant.keys', summary: 'List the keys of a tenant', scope: 'operator' },
    {
      method: 'get',
      path: '/v1/tenants/{tenant}/keys',
      request: { params: tenantParameters, query: pageQuery },
      responses: { 200: pageOfKeys },
    },
  )
  app.openapi(list, async (context) => {
    const { id } = await tenants.get(context.req.valid('param').tenant)
    const { items, next } = await keys.list(id, pageOptions(context.req.valid('query')))
    return context.json({ items: items.map(keyView), next }, 200)
  })

  const revoke = describeRoute(
    {
      name: 'tenant.key.revoke',
      summary: 'Revoke a key of a tenant, and with it all that was made under it',
      scope: 'operator',
    },
    {
      method: 'delete',
      path: '/v1/tenants/{tenant}/keys/{key}',
      request: { params: tenantParameters.extend({ key: z.string() }) },
      responses: noContent,
    },
  )
  app.openapi(revoke, async (context) => {
    const { tenant, key } = context.req.valid('param')
    const { id } = await tenants.get(tenant)
    await revokeKey(services, context.get('caller'), { tenantId: id, id: key })
    return context.body(null, 204)
  })
}
