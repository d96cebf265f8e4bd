import { z } from '@hono/zod-openapi'
import { guestPathSchema, watchStreamSchema } from '@hearth/contract'
import type { App, Services } from '../app-env.ts'
import { describeRoute, eventAnswer, queryBoolean, sandboxParameters } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { answerWithEvents } from '../streams/event-stream.ts'

export function watchRoutes(app: App, services: Services): void {
  const watch = describeRoute(
    { name: 'files.watch', summary: 'Follow changes below a path', scope: 'files' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/watch',
      request: {
        params: sandboxParameters,
        query: z.object({ path: guestPathSchema, recursive: queryBoolean.optional() }),
      },
      responses: { 200: eventAnswer(watchStreamSchema, 'Changes as they happen.') },
    },
  )
  app.openapi(watch, async (context) => {
    const { path, recursive = false } = context.req.valid('query')
    return await withSandbox(services, context, async (sandbox) => {
      const changes = await sandbox.watch(path, { recursive })
      try {
        return await answerWithEvents(context, services, {
          stop: () => void changes[Symbol.asyncDispose](),
          work: async (stream) => {
            await stream.send({ type: 'watching' })
            for await (const change of changes) await stream.send({ type: 'change', ...change })
          },
        })
      } finally {
        await changes[Symbol.asyncDispose]()
      }
    })
  })
}
