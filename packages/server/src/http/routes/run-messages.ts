import { z } from '@hono/zod-openapi'
import { postRunMessageSchema, runMessagePageSchema, runMessageSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { describeRoute, jsonAnswer, jsonBody, queryInteger } from '../openapi.ts'
import { messageView } from '../run-views.ts'
import { answerWithEvents, lastEventId, wantsEvents } from '../streams/event-stream.ts'
import { runOf, runParameters } from './runs.ts'

/** What people tell a run. Whoever works on it reads them as they come, and says in its events which took effect. */
export function runMessageRoutes(app: App, services: Services): void {
  const { runs, limits } = services
  const post = describeRoute(
    { name: 'run.tell', summary: 'Steer, pause, resume or stop a run', scope: 'runs', before: boundedJson(limits) },
    {
      method: 'post',
      path: '/v1/runs/{run}/messages',
      request: { params: runParameters, ...jsonBody(postRunMessageSchema) },
      responses: { 201: jsonAnswer(runMessageSchema, 'The message, with its number.') },
    },
  )
  app.openapi(post, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    const { kind, text = '' } = context.req.valid('json')
    return context.json(messageView(await runs.post(tenantId, run, kind, text)), 201)
  })
  readRoutes(app, services)
}

function readRoutes(app: App, services: Services): void {
  const { runs } = services
  const list = describeRoute(
    {
      name: 'run.messages',
      summary: 'What a run was told: a page, or with `Accept: text/event-stream` what it is told',
      scope: 'runs',
    },
    {
      method: 'get',
      path: '/v1/runs/{run}/messages',
      request: {
        params: runParameters,
        query: z.object({
          after: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
          limit: queryInteger(1, 1000).optional(),
        }),
      },
      responses: {
        200: {
          description: 'Messages in their order, with numbers larger than `after`.',
          content: {
            'application/json': { schema: runMessagePageSchema },
            'text/event-stream': { schema: runMessageSchema },
          },
        },
      },
    },
  )
  app.openapi(list, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    const { after, limit = 100 } = context.req.valid('query')
    if (!wantsEvents(context)) {
      const items = await runs.messages(tenantId, run, after ?? 0, limit)
      return context.json({ items: items.map(messageView) }, 200)
    }
    await runs.get(tenantId, run)
    const stop = new AbortController()
    return await answerWithEvents(context, services, {
      stop: () => stop.abort(),
      work: async (stream) => {
        const begin = after ?? lastEventId(context) ?? 0
        for await (const message of runs.followMessages(tenantId, run, begin, stop.signal)) {
          await stream.send(messageView(message), message.number)
        }
      },
    })
  })
}
