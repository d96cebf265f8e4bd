import { z } from '@hono/zod-openapi'
import { HearthError, resizeRequestSchema, signalRequestSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { readBody } from '../bodies/read-body.ts'
import { bytesBody, describeRoute, jsonBody, noContent, processParameters, queryBoolean } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'

/** What does not read: standard input, signals and the size of a terminal. A reader is not disturbed by it. */
export function controlRoutes(app: App, services: Services): void {
  inputRoute(app, services)
  const before = boundedJson(services.limits)
  const signal = describeRoute(
    { name: 'process.signal', summary: 'Signal the group of a process, or kill its whole tree', scope: 'exec', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/processes/{process}/signal',
      request: { params: processParameters, ...jsonBody(signalRequestSchema) },
      responses: noContent,
    },
  )
  app.openapi(signal, async (context) => {
    const { signal: name, tree = false } = context.req.valid('json')
    const { process: id } = context.req.valid('param')
    if (tree && name !== undefined && name !== 'SIGKILL') {
      throw new HearthError('invalid_request', 'signal: a whole tree takes SIGKILL alone')
    }
    await withSandbox(services, context, (sandbox) =>
      services.processes.control(sandbox, id, (process) => (tree ? process.kill() : process.signal(name ?? 'SIGTERM'))),
    )
    return context.body(null, 204)
  })

  const resize = describeRoute(
    { name: 'process.resize', summary: 'Change the size of a terminal', scope: 'exec', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/processes/{process}/resize',
      request: { params: processParameters, ...jsonBody(resizeRequestSchema) },
      responses: noContent,
    },
  )
  app.openapi(resize, async (context) => {
    const { process: id } = context.req.valid('param')
    await withSandbox(services, context, (sandbox) =>
      services.processes.control(sandbox, id, (process) => process.resize(context.req.valid('json'))),
    )
    return context.body(null, 204)
  })
}

function inputRoute(app: App, services: Services): void {
  const input = describeRoute(
    { name: 'process.stdin', summary: 'Write to standard input', scope: 'exec' },
    {
      method: 'put',
      path: '/v1/sandboxes/{id}/processes/{process}/stdin',
      request: { params: processParameters, query: z.object({ eof: queryBoolean.optional() }), ...bytesBody },
      responses: noContent,
    },
  )
  app.openapi(input, async (context) => {
    const { process: id } = context.req.valid('param')
    const { limits } = services
    const body = readBody(context.env.incoming, { maximumBytes: limits.uploadBytes, idleMs: limits.bodyIdleMs })
    await withSandbox(services, context, (sandbox) =>
      services.processes.control(sandbox, id, async (process) => {
        for await (const piece of body) await process.write(piece)
        if (context.req.valid('query').eof === true) await process.closeStdin()
      }),
    )
    return context.body(null, 204)
  })
}
