import { policyViewSchema, putPolicySchema, recordVerdictSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
import { sandboxId } from '../sandbox-use.ts'

const inForce = { 200: jsonAnswer(policyViewSchema, 'What is in force, with presets written out.') } as const

/** What a sandbox may reach, and whether what is told of it is what happened. */
export function policyRoutes(app: App, services: Services): void {
  const { policies } = services.controlPlane
  const get = describeRoute(
    { name: 'policy.get', summary: 'What a sandbox may reach', scope: 'sandbox:read' },
    { method: 'get', path: '/v1/sandboxes/{id}/policy', request: { params: sandboxParameters }, responses: inForce },
  )
  app.openapi(get, async (context) => context.json(await policies.get(context.get('caller'), sandboxId(context)), 200))

  const put = describeRoute(
    {
      name: 'policy.put',
      summary: 'Change what a sandbox may reach, while it runs',
      scope: 'sandbox:write',
      before: boundedJson(services.limits),
    },
    {
      method: 'put',
      path: '/v1/sandboxes/{id}/policy',
      request: { params: sandboxParameters, ...jsonBody(putPolicySchema) },
      responses: inForce,
    },
  )
  app.openapi(put, async (context) => {
    const policy = context.req.valid('json')
    return context.json(await policies.set(context.get('caller'), sandboxId(context), policy), 200)
  })

  const record = describeRoute(
    {
      name: 'record.verify',
      summary: 'Whether the record of a sandbox is what was written; also of one that has ended',
      scope: 'sandbox:read',
    },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/record',
      request: { params: sandboxParameters },
      responses: { 200: jsonAnswer(recordVerdictSchema, 'The verdict, and the end of the chain of hashes.') },
    },
  )
  app.openapi(record, async (context) => {
    const caller = context.get('caller')
    const { tenantId } = caller
    if (caller.holder !== null) await services.controlPlane.get(caller, sandboxId(context))
    return context.json(await services.events.verify(tenantId, sandboxId(context)), 200)
  })
}
