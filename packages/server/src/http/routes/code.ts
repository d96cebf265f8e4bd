import { codeResultSchema, runCodeRequestSchema, type RunCodeOptions } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
import { clientSignal, unlessStopped, workGoesOn } from '../outliving.ts'
import { withSandbox } from '../sandbox-use.ts'

export function codeRoutes(app: App, services: Services): void {
  const before = boundedJson(services.limits, services.limits.commandBytes)
  const run = describeRoute(
    { name: 'code.run', summary: 'Run code in an interpreter that keeps its state', scope: 'exec', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/code',
      request: { params: sandboxParameters, ...jsonBody(runCodeRequestSchema) },
      responses: { 200: jsonAnswer(codeResultSchema, 'What it printed, and its value or its error.') },
    },
  )
  app.openapi(run, async (context) => {
    const { code, ...options } = context.req.valid('json')
    const operation = context.get('operation')
    const signal = clientSignal(operation)
    const work = withSandbox(services, context, async (sandbox) => {
      const result = sandbox.runCode(code, { ...(options as RunCodeOptions), signal })
      return await unlessStopped(operation, result, workGoesOn)
    })
    return await answerPatiently(context, services, 200, work)
  })
}
