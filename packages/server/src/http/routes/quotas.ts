import { quotasViewSchema, type QuotasView } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { describeRoute, jsonAnswer } from '../openapi.ts'
import { tenantParameters } from './tenants.ts'

/** What tenants may hold at once, and what they hold. */
export function quotaRoutes(app: App, { tenants }: Services): void {
  const view = async (id: string): Promise<QuotasView> => {
    const { name, quotas } = await tenants.get(id)
    return { tenant: { id, name }, limits: quotas, usage: await tenants.usage(id) }
  }
  const responses = { 200: jsonAnswer(quotasViewSchema, 'The quotas and what is in use of them.') } as const

  const own = describeRoute(
    { name: 'quota.get', summary: 'What your tenant may hold at once, and what it holds', scope: 'sandbox:read' },
    { method: 'get', path: '/v1/quotas', responses },
  )
  app.openapi(own, async (context) => context.json(await view(context.get('caller').tenantId), 200))

  const others = describeRoute(
    { name: 'tenant.usage', summary: 'What a tenant may hold at once, and what it holds', scope: 'operator' },
    { method: 'get', path: '/v1/tenants/{tenant}/quotas', request: { params: tenantParameters }, responses },
  )
  app.openapi(others, async (context) => context.json(await view(context.req.valid('param').tenant), 200))
}
