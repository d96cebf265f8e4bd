import { z } from '@hono/zod-openapi'
import { createKeySchema, createTenantSchema, newKeySchema, quotasSchema, tenantViewSchema } from '@hearth/contract'
import type { Tenant } from '../../state/index.ts'
import { requireWithin } from '../access/scopes.ts'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody } from '../openapi.ts'
import { keyView } from './keys.ts'

const tenantParameters = z.object({ tenant: z.string().max(64) })
const oneTenant = jsonAnswer(tenantViewSchema, 'The tenant.')

/** For operators alone: who else uses this server, and how much of it. */
export function tenantRoutes(app: App, { tenants, keys, limits }: Services): void {
  const before = boundedJson(limits)
  const create = describeRoute(
    { name: 'tenant.create', summary: 'Make a tenant', scope: 'operator', before },
    { method: 'post', path: '/v1/tenants', request: jsonBody(createTenantSchema), responses: { 201: oneTenant } },
  )
  app.openapi(create, async (context) => {
    const { name, quotas } = context.req.valid('json')
    const tenant = await tenants.create({ name, ...(quotas === undefined ? {} : { quotas: defined(quotas) }) })
    return context.json(tenantView(tenant), 201)
  })

  const list = describeRoute(
    { name: 'tenant.list', summary: 'List tenants', scope: 'operator' },
    {
      method: 'get',
      path: '/v1/tenants',
      responses: { 200: jsonAnswer(z.object({ items: z.array(tenantViewSchema) }), 'All, oldest first.') },
    },
  )
  app.openapi(list, async (context) => context.json({ items: (await tenants.list()).map(tenantView) }, 200))

  const change = describeRoute(
    { name: 'tenant.quotas', summary: 'Change the quotas of a tenant', scope: 'operator', before },
    {
      method: 'patch',
      path: '/v1/tenants/{tenant}/quotas',
      request: { params: tenantParameters, ...jsonBody(quotasSchema.partial()) },
      responses: { 200: oneTenant },
    },
  )
  app.openapi(change, async (context) => {
    const { tenant } = context.req.valid('param')
    return context.json(tenantView(await tenants.setQuotas(tenant, defined(context.req.valid('json')))), 200)
  })

  const createKey = describeRoute(
    { name: 'tenant.key', summary: 'Make a key of a tenant', scope: 'operator', before },
    {
      method: 'post',
      path: '/v1/tenants/{tenant}/keys',
      request: { params: tenantParameters, ...jsonBody(createKeySchema) },
      responses: { 201: jsonAnswer(newKeySchema, 'The only answer that holds the key itself.') },
    },
  )
  app.openapi(createKey, async (context) => {
    const { name, scopes = ['admin'], expiresInMs } = context.req.valid('json')
    requireWithin(context.get('caller').scopes, scopes, 'the new key')
    const tenant = await tenants.get(context.req.valid('param').tenant)
    const expiresAt = expiresInMs === undefined ? null : Date.now() + expiresInMs
    const made = await keys.create({ tenantId: tenant.id, name, scopes, expiresAt })
    return context.json({ ...keyView(made.key), key: made.token }, 201)
  })
}

function tenantView({ id, name, quotas, createdAt }: Tenant) {
  return { id, name, quotas, createdAt: new Date(createdAt).toISOString() }
}

function defined<T extends object>(value: T): { [Key in keyof T]?: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as {
    [Key in keyof T]?: Exclude<T[Key], undefined>
  }
}
