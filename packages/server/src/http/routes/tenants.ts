import { z } from '@hono/zod-openapi'
import { createTenantSchema, HearthError, pageSchema, quotasSchema, tenantViewSchema } from '@hearth/contract'
import type { Tenant } from '../../state/index.ts'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, pageOptions, pageQuery } from '../openapi.ts'

export const tenantParameters = z.object({ tenant: z.string().max(64) })
const oneTenant = jsonAnswer(tenantViewSchema, 'The tenant.')

/** For operators alone: who else uses this server, and how much of it. */
export function tenantRoutes(app: App, services: Services): void {
  const { tenants, limits } = services
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
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(tenantViewSchema), 'One page, oldest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const { items, next } = await tenants.list(pageOptions(context.req.valid('query')))
    return context.json({ items: items.map(tenantView), next }, 200)
  })

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

  const remove = describeRoute(
    {
      name: 'tenant.delete',
      summary: 'Remove a tenant that holds nothing, with its keys and all it knew',
      scope: 'operator',
    },
    { method: 'delete', path: '/v1/tenants/{tenant}', request: { params: tenantParameters }, responses: noContent },
  )
  app.openapi(remove, async (context) => {
    const { tenant } = context.req.valid('param')
    if (tenant === context.get('caller').tenantId) {
      throw new HearthError('conflict', 'this is the tenant of your own key', {
        suggestion: 'Use the key of an operator that belongs to another tenant.',
      })
    }
    await tenants.remove(tenant)
    services.access.keys.forget()
    return context.body(null, 204)
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
