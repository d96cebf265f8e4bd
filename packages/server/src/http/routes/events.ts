import { z } from '@hono/zod-openapi'
import { eventPageSchema, eventViewSchema, HearthError, sandboxIdSchema } from '@hearth/contract'
import type { Caller } from '../../control-plane.ts'
import { publicView } from '../../state/index.ts'
import type { App, AppContext, Services } from '../app-env.ts'
import { describeRoute, queryInteger } from '../openapi.ts'
import { answerWithEvents, lastEventId, wantsEvents } from '../streams/event-stream.ts'

const query = z.object({
  sandbox: sandboxIdSchema.optional(),
  after: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
  limit: queryInteger(1, 1000).optional(),
  last: queryInteger(1, 1000).optional(),
  before: queryInteger(1, Number.MAX_SAFE_INTEGER).optional(),
})

export function eventRoutes(app: App, services: Services): void {
  const events = describeRoute(
    {
      name: 'event.list',
      summary: 'What happened: a page, or with `Accept: text/event-stream` what happens',
      scope: 'sandbox:read',
    },
    {
      method: 'get',
      path: '/v1/events',
      request: { query },
      responses: {
        200: {
          description: 'Events of the tenant in their order. A stream without `after` begins now.',
          content: {
            'application/json': { schema: eventPageSchema },
            'text/event-stream': { schema: eventViewSchema },
          },
        },
      },
    },
  )
  app.openapi(events, async (context) => {
    const { sandbox, after, limit, last, before } = context.req.valid('query')
    await requireVisible(services, context.get('caller'), sandbox)
    const filter = {
      tenantId: context.get('caller').tenantId,
      ...(sandbox === undefined ? {} : { sandboxId: sandbox }),
    }
    if (wantsEvents(context)) {
      if (last !== undefined || before !== undefined)
        throw new HearthError('invalid_request', 'query.last: a stream has no end to count from')
      return await followEvents(context, services, filter, after ?? lastEventId(context))
    }
    if (last !== undefined)
      return context.json(await latest(services, { ...filter, after: after ?? 0, last, before }), 200)
    if (before !== undefined) throw new HearthError('invalid_request', 'query.before: is for pages with `last`')
    const page = await services.events.page({ ...filter, after: after ?? 0, limit: limit ?? 100 })
    return context.json({ items: page.events.map(publicView), next: page.next, dropped: page.dropped }, 200)
  })
}

interface Latest {
  readonly tenantId: string
  readonly sandboxId?: string
  readonly after: number
  readonly last: number
  readonly before: number | undefined
}

/** The newest events, however many came before them. `next` is where those go on that come later. */
async function latest(
  { events }: Services,
  { last, before, ...filter }: Latest,
): Promise<z.output<typeof eventPageSchema>> {
  const page = await events.page({ ...filter, limit: last, before: before ?? Number.MAX_SAFE_INTEGER })
  const items = page.events.map(publicView).toReversed()
  return { items, next: items.at(-1)?.seq ?? filter.after, dropped: page.dropped }
}

/** A holder follows what was made under it, one sandbox at a time: the tenant's other events are not its own. */
async function requireVisible({ controlPlane }: Services, caller: Caller, sandbox: string | undefined): Promise<void> {
  if (caller.holder === null) return
  if (sandbox !== undefined) return void (await controlPlane.get(caller, sandbox))
  throw new HearthError('forbidden', 'a key that was delegated sees the events of one sandbox: name it', {
    suggestion: 'Add `?sandbox=ID`.',
  })
}

async function followEvents(
  context: AppContext,
  services: Services,
  filter: { readonly tenantId: string; readonly sandboxId?: string },
  after: number | null,
): Promise<never> {
  const stop = new AbortController()
  const from = after ?? (await services.events.head())
  return await answerWithEvents(context, services, {
    stop: () => stop.abort(),
    work: async (stream) => {
      // A client that breaks off before the first event knows where to go on.
      await stream.send({ type: 'following', after: from }, from)
      for await (const page of services.events.follow({ ...filter, after: from, signal: stop.signal })) {
        if (page.dropped !== null) await stream.send({ type: 'dropped', ...page.dropped })
        for (const event of page.events) await stream.send(publicView(event), event.seq)
      }
    },
  })
}
