import { z } from '@hono/zod-openapi'
import {
  buildTemplateSchema,
  pageSchema,
  templateBuildEventSchema,
  templateNameSchema,
  templateViewSchema,
  type TemplateBuildEvent,
} from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, pageQuery } from '../openapi.ts'
import { answerWithEvents, wantsEvents } from '../streams/event-stream.ts'

/** Lines that wait for a client that is slow: newer ones matter more than all of them. */
const MOST_WAITING_LINES = 100

/** The roots that sandboxes start from. A host has one set of them for all its tenants, so that operators alone change it. */
export function templateRoutes(app: App, services: Services): void {
  const { templates } = services.controlPlane
  const list = describeRoute(
    {
      name: 'template.list',
      summary:
        'List templates: with `operator` all of the host, else the built-in ones and those of your own sandboxes',
      scope: 'sandbox:read',
    },
    {
      method: 'get',
      path: '/v1/templates',
      request: { query: pageQuery },
      responses: { 200: jsonAnswer(pageSchema(templateViewSchema), 'One page, by name.') },
    },
  )
  app.openapi(list, async (context) => {
    const { limit = 100, cursor = null } = context.req.valid('query')
    const page = await templates.list(context.get('caller'), { limit, cursor })
    return context.json({ items: [...page.items], next: page.next }, 200)
  })

  const remove = describeRoute(
    { name: 'template.delete', summary: 'Remove a built template', scope: 'operator' },
    {
      method: 'delete',
      path: '/v1/templates/{template}',
      request: { params: z.object({ template: templateNameSchema.meta({ example: 'debian' }) }) },
      responses: noContent,
    },
  )
  app.openapi(remove, async (context) => {
    await templates.remove(context.get('caller'), context.req.valid('param').template)
    return context.body(null, 204)
  })

  buildRoute(app, services)
}

function buildRoute(app: App, services: Services): void {
  const { templates } = services.controlPlane
  const build = describeRoute(
    {
      name: 'template.build',
      summary: 'Build or pull a template now; with `Accept: text/event-stream` it says what it does',
      scope: 'operator',
      before: boundedJson(services.limits),
    },
    {
      method: 'post',
      path: '/v1/templates',
      request: jsonBody(buildTemplateSchema),
      responses: {
        200: {
          description: 'The template is there. As a stream: lines of progress, then `built`.',
          content: {
            'application/json': { schema: templateViewSchema },
            'text/event-stream': { schema: templateBuildEventSchema },
          },
        },
      },
    },
  )
  app.openapi(build, async (context) => {
    const { name, force = false, credentials = null } = context.req.valid('json')
    const caller = context.get('caller')
    if (wantsEvents(context)) {
      return await tellBuild(context, services, (signal, onProgress) =>
        templates.build(caller, name, { force, credentials, signal, onProgress }),
      )
    }
    const { signal } = context.get('operation')
    const built = templates.build(caller, name, { force, credentials, signal, onProgress: () => undefined })
    return await answerPatiently(context, services, 200, built)
  })
}

type Work = (signal: AbortSignal, onProgress: (line: string) => void) => Promise<z.output<typeof templateViewSchema>>

/** The build ends with the client that asked for it, unless others wait for the same one. */
async function tellBuild(context: AppContext, services: Services, work: Work): Promise<never> {
  const stop = new AbortController()
  return await answerWithEvents(context, services, {
    stop: (reason) => stop.abort(reason),
    work: async (stream) => {
      const send = (event: TemplateBuildEvent): Promise<void> => stream.send(event)
      let waiting = 0
      let sent: Promise<void> = Promise.resolve()
      const template = await work(stop.signal, (line) => {
        if (waiting >= MOST_WAITING_LINES) return
        waiting++
        // A client that has gone is seen by the stream, which then stops the work.
        sent = sent
          .then(() => send({ type: 'progress', line: line.trimEnd() }))
          .catch(() => undefined)
          .finally(() => waiting--)
      })
      await sent
      await send({ type: 'built', template })
    },
  })
}
