import { sandboxViewSchema, sleepOptionsSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
import { sandboxId } from '../sandbox-use.ts'

const request = { params: sandboxParameters, ...jsonBody(sleepOptionsSchema) } as const

/** Sandboxes that sleep on disk. */
export function sleepRoutes(app: App, services: Services): void {
  const { sleep } = services.controlPlane
  const before = boundedJson(services.limits)

  const hibernate = describeRoute(
    {
      name: 'sandbox.hibernate',
      summary: 'Write a sandbox to disk and end its machine; the next use wakes it',
      scope: 'sandbox:write',
      before,
    },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/hibernate',
      request,
      responses: {
        200: jsonAnswer(sandboxViewSchema, 'It is hibernated; `hibernation` says whether its processes are.'),
      },
    },
  )
  app.openapi(hibernate, async (context) => {
    const asleep = sleep.hibernate(context.get('caller'), sandboxId(context), context.req.valid('json'))
    return await answerPatiently(context, services, 200, asleep)
  })

  const wake = describeRoute(
    { name: 'sandbox.wake', summary: 'Give a hibernated sandbox its machine again', scope: 'sandbox:write', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/wake',
      request,
      responses: { 200: jsonAnswer(sandboxViewSchema, 'It runs.') },
    },
  )
  app.openapi(wake, async (context) => {
    const awake = sleep.wake(context.get('caller'), sandboxId(context), context.req.valid('json'))
    return await answerPatiently(context, services, 200, awake)
  })
}
