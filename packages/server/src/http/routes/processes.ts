import { z } from '@hono/zod-openapi'
import {
  outputEventSchema,
  processRequestSchema,
  processViewSchema,
  startedProcessSchema,
  type ProcessInfo,
  type ProcessView,
  type SpawnOptions,
} from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, eventAnswer, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { wantsEvents } from '../streams/event-stream.ts'
import { controlRoutes } from './process-control.ts'
import { follow, FOLLOWING, outputRoute } from './process-output.ts'

export function processRoutes(app: App, services: Services): void {
  const start = describeRoute(
    {
      name: 'process.start',
      summary: 'Start a command in the background',
      scope: 'exec',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/processes',
      request: { params: sandboxParameters, ...jsonBody(processRequestSchema) },
      responses: {
        200: eventAnswer(outputEventSchema, `With \`Accept: text/event-stream\`. ${FOLLOWING}`),
        201: jsonAnswer(startedProcessSchema, 'It has been started.'),
      },
    },
  )
  app.openapi(start, async (context) => {
    const { command, ...options } = context.req.valid('json')
    return await withSandbox(services, context, async (sandbox) => {
      const process = await sandbox.spawn(command, options as SpawnOptions)
      if (wantsEvents(context)) return await follow(context, services, process)
      await process.detach()
      return context.json({ id: process.id, pid: process.pid }, 201)
    })
  })

  const list = describeRoute(
    { name: 'process.list', summary: 'List processes that were started here, also ended ones', scope: 'exec' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/processes',
      request: { params: sandboxParameters },
      responses: { 200: jsonAnswer(z.object({ items: z.array(processViewSchema) }), 'All that are retained.') },
    },
  )
  app.openapi(list, async (context) => {
    const found = await withSandbox(services, context, (sandbox) => sandbox.processes())
    return context.json({ items: found.map(processView) }, 200)
  })

  outputRoute(app, services)
  controlRoutes(app, services)
}

function processView(info: ProcessInfo): ProcessView {
  return { ...info, command: [...info.command], startedAt: info.startedAt.toISOString() }
}
