import { z } from '@hono/zod-openapi'
import {
  agentEventSchema,
  appendRunEventsSchema,
  BOUNDS,
  createdRunSchema,
  createRunSchema,
  HearthError,
  newId,
  pageSchema,
  RUN_STATES,
  runEventPageSchema,
  runIdSchema,
  runLeaseSchema,
  runViewSchema,
  takeRunSchema,
  type RunId,
} from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { metadataFilter } from '../metadata-filter.ts'
import { describeRoute, jsonAnswer, jsonBody, noContent, queryInteger } from '../openapi.ts'
import { leaseView, runView } from '../run-views.ts'
import { answerWithEvents, lastEventId, wantsEvents } from '../streams/event-stream.ts'

export const runParameters = z.object({ run: z.string().meta({ example: 'run_01jd4q2m8r0000000000' }) })

/** A run of the caller's tenant. SAFETY: what is none and what is another's are the same. */
export function runOf(context: AppContext, given: string): { tenantId: string; run: RunId } {
  const parsed = runIdSchema.safeParse(given)
  if (!parsed.success) throw new HearthError('run_not_found', 'there is no such run')
  return { tenantId: context.get('caller').tenantId, run: parsed.data }
}

/** Runs of agents. The database is their log: who works on one holds its lease, and writes down each event before it takes effect. */
export function runRoutes(app: App, services: Services): void {
  const { runs, limits } = services
  const create = describeRoute(
    { name: 'run.create', summary: 'Begin a run of an agent, and take it', scope: 'runs', before: boundedJson(limits) },
    {
      method: 'post',
      path: '/v1/runs',
      request: jsonBody(createRunSchema),
      responses: { 201: jsonAnswer(createdRunSchema, 'The run, and the right to write it down.') },
    },
  )
  app.openapi(create, async (context) => {
    const { id, leaseMs = BOUNDS.runLeaseMs, workspace, parent, metadata, ...given } = context.req.valid('json')
    const made = await runs.create(context.get('caller').tenantId, {
      ...given,
      id: id ?? (newId('run') as RunId),
      leaseMs,
      workspace: workspace ?? null,
      parent: parent ?? null,
      metadata: metadata ?? {},
    })
    return context.json({ run: runView(made.run), lease: leaseView(made.lease) }, 201)
  })

  const list = describeRoute(
    { name: 'run.list', summary: 'List runs; `metadata.KEY=VALUE` filters, too', scope: 'runs' },
    {
      method: 'get',
      path: '/v1/runs',
      request: {
        query: z.object({
          limit: queryInteger(1, 1000).optional(),
          cursor: z.string().max(256).optional(),
          state: z.enum(RUN_STATES).optional(),
          parent: runIdSchema.optional(),
          sandbox: z.string().max(64).optional(),
        }),
      },
      responses: { 200: jsonAnswer(pageSchema(runViewSchema), 'One page, newest first.') },
    },
  )
  app.openapi(list, async (context) => {
    const given = Object.entries(context.req.valid('query')).filter(([, value]) => value !== undefined)
    const options = { ...Object.fromEntries(given), metadata: metadataFilter(context) }
    const page = await runs.list(context.get('caller').tenantId, options)
    return context.json({ items: page.items.map(runView), next: page.next }, 200)
  })

  oneRoute(app, services)
  leaseRoutes(app, services)
  eventRoutes(app, services)
}

function oneRoute(app: App, { runs }: Services): void {
  const get = describeRoute(
    { name: 'run.get', summary: 'Get a run', scope: 'runs' },
    {
      method: 'get',
      path: '/v1/runs/{run}',
      request: { params: runParameters },
      responses: { 200: jsonAnswer(runViewSchema, 'The run.') },
    },
  )
  app.openapi(get, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    return context.json(runView(await runs.get(tenantId, run)), 200)
  })
}

function leaseRoutes(app: App, { runs, limits }: Services): void {
  const take = describeRoute(
    { name: 'run.take', summary: 'Take a run, or hold it longer', scope: 'runs', before: boundedJson(limits) },
    {
      method: 'post',
      path: '/v1/runs/{run}/lease',
      request: { params: runParameters, ...jsonBody(takeRunSchema) },
      responses: { 200: jsonAnswer(runLeaseSchema, 'The number is another for each who takes the run.') },
    },
  )
  app.openapi(take, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    const { owner, lease, leaseMs = BOUNDS.runLeaseMs, force = false } = context.req.valid('json')
    const held =
      lease === undefined
        ? await runs.take(tenantId, run, { owner: owner ?? '', leaseMs, force })
        : await runs.renew(tenantId, run, { lease, leaseMs })
    return context.json(leaseView(held), 200)
  })

  const release = describeRoute(
    { name: 'run.release', summary: 'Give a run back, so that another can go on with it', scope: 'runs' },
    {
      method: 'delete',
      path: '/v1/runs/{run}/lease',
      request: {
        params: runParameters,
        query: z.object({ lease: queryInteger(1, Number.MAX_SAFE_INTEGER) }),
      },
      responses: noContent,
    },
  )
  app.openapi(release, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    await runs.release(tenantId, run, context.req.valid('query').lease)
    return context.body(null, 204)
  })
}

function eventRoutes(app: App, services: Services): void {
  const { runs, limits } = services
  const append = describeRoute(
    {
      name: 'run.append',
      summary: 'Write events down: all of them, or none',
      scope: 'runs',
      before: boundedJson(limits, limits.commandBytes),
    },
    {
      method: 'post',
      path: '/v1/runs/{run}/events',
      request: { params: runParameters, ...jsonBody(appendRunEventsSchema) },
      responses: noContent,
    },
  )
  app.openapi(append, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    const { lease, events } = context.req.valid('json')
    await runs.append(tenantId, run, lease, events)
    return context.body(null, 204)
  })
  readRoutes(app, services)
}

function readRoutes(app: App, services: Services): void {
  const { runs } = services
  const list = describeRoute(
    {
      name: 'run.events',
      summary: 'What happened in a run: a page, or with `Accept: text/event-stream` what happens, to its end',
      scope: 'runs',
    },
    {
      method: 'get',
      path: '/v1/runs/{run}/events',
      request: {
        params: runParameters,
        query: z.object({
          from: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
          limit: queryInteger(1, 1000).optional(),
        }),
      },
      responses: {
        200: {
          description: 'Events in their order, from `from` on.',
          content: {
            'application/json': { schema: runEventPageSchema },
            'text/event-stream': { schema: agentEventSchema },
          },
        },
      },
    },
  )
  app.openapi(list, async (context) => {
    const { tenantId, run } = runOf(context, context.req.valid('param').run)
    const { from, limit = 100 } = context.req.valid('query')
    if (!wantsEvents(context)) {
      const { events, next, end } = await runs.events(tenantId, run, from ?? 0, limit)
      return context.json({ items: [...events], next, end }, 200)
    }
    await runs.get(tenantId, run)
    const begin = from ?? (lastEventId(context) ?? -1) + 1
    const stop = new AbortController()
    return await answerWithEvents(context, services, {
      stop: () => stop.abort(),
      work: async (stream) => {
        for await (const page of runs.followEvents(tenantId, run, begin, stop.signal)) {
          for (const event of page.events) await stream.send(event, event.seq)
        }
      },
    })
  })
}
