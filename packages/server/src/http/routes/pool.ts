import { poolSchema, setPoolSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody } from '../openapi.ts'

/** For operators alone: what waits on this host was made for whoever comes. */
export function poolRoutes(app: App, services: Services): void {
  const { pool } = services.controlPlane
  services.metrics.observePool(() => pool.report())
  const get = describeRoute(
    { name: 'pool.get', summary: 'Machines that wait for sandboxes', scope: 'operator' },
    { method: 'get', path: '/v1/pool', responses: { 200: jsonAnswer(poolSchema, 'As it is now.') } },
  )
  app.openapi(get, (context) => context.json(pool.report(), 200))

  const set = describeRoute(
    {
      name: 'pool.set',
      summary: 'Give the pool other bounds, until the server is started again',
      scope: 'operator',
      before: boundedJson(services.limits),
    },
    {
      method: 'put',
      path: '/v1/pool',
      request: jsonBody(setPoolSchema),
      responses: { 200: jsonAnswer(poolSchema, 'What was too much has ended.') },
    },
  )
  app.openapi(set, async (context) => {
    await pool.set(context.req.valid('json'))
    return context.json(pool.report(), 200)
  })
}
