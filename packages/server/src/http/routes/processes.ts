import { z } from '@hono/zod-openapi'
import {
  HearthError,
  outputEventSchema,
  processRequestSchema,
  processViewSchema,
  resizeRequestSchema,
  signalRequestSchema,
  startedProcessSchema,
  type Process,
  type ProcessInfo,
  type ProcessView,
  type Sandbox,
  type SpawnOptions,
} from '@hearth/contract'
import { type App, type AppContext, type Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { readBody } from '../bodies/read-body.ts'
import {
  bytesBody,
  describeRoute,
  eventAnswer,
  jsonAnswer,
  jsonBody,
  noContent,
  queryBoolean,
  queryInteger,
  sandboxParameters,
} from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { answerWithEvents, type EventStream } from '../streams/event-stream.ts'
import { sendOutput } from '../streams/send-output.ts'

const processParameters = sandboxParameters.extend({ process: queryInteger(1, 2 ** 32 - 1) })
const outputQuery = z.object({
  offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
  follow: queryBoolean.optional(),
})
const following = 'Output as it comes. A reader that goes away leaves the process running.'

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
        200: eventAnswer(outputEventSchema, `With \`Accept: text/event-stream\`. ${following}`),
        201: jsonAnswer(startedProcessSchema, 'It has been started.'),
      },
    },
  )
  app.openapi(start, async (context) => {
    const { command, ...options } = context.req.valid('json')
    return await withSandbox(services, context, async (sandbox) => {
      const process = await services.processes.spawn(sandbox, command, options as SpawnOptions)
      if (wantsEvents(context)) return await follow(context, services, sandbox, process)
      await services.processes.release(sandbox, process)
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
  inputRoute(app, services)
  controlRoutes(app, services)
}

function outputRoute(app: App, services: Services): void {
  const output = describeRoute(
    { name: 'process.output', summary: 'Follow the output of a process from an offset', scope: 'exec' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/processes/{process}/output',
      request: { params: processParameters, query: outputQuery },
      responses: { 200: eventAnswer(outputEventSchema, following) },
    },
  )
  app.openapi(output, async (context) => {
    const { process: id } = context.req.valid('param')
    const query = context.req.valid('query')
    const offset = query.offset ?? lastEventId(context) ?? 0
    return await withSandbox(services, context, async (sandbox) => {
      const until = query.follow === false ? await endOfOutput(sandbox, id) : Infinity
      const process = await services.processes.attach(sandbox, id, Math.min(offset, until))
      return await follow(context, services, sandbox, process, { offset, until })
    })
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

function controlRoutes(app: App, services: Services): void {
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
      throw new HearthError('invalid_request', 'json.signal: a whole tree takes SIGKILL alone')
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

interface Part {
  readonly offset: number
  readonly until: number
}

/** The answer is the output; the process is let go when the answer ends, whatever ends it. */
async function follow(
  context: AppContext,
  services: Services,
  sandbox: Sandbox,
  process: Process,
  { offset, until }: Part = { offset: 0, until: Infinity },
): Promise<never> {
  try {
    return await answerWithEvents(context, services, {
      stop: () => void process.detach(),
      work: async (stream: EventStream) => {
        if (offset < until) return await sendOutput(stream, process, until)
        await stream.send({ type: 'started', process: process.id, pid: process.pid })
      },
    })
  } finally {
    await services.processes.release(sandbox, process)
  }
}

async function endOfOutput(sandbox: Sandbox, id: number): Promise<number> {
  const info = (await sandbox.processes()).find((process) => process.id === id)
  if (info === undefined) throw new HearthError('process_not_found', `there is no process ${id}`)
  // One that has ended is read to its end, with its exit.
  return info.exit === null ? info.outputBytes : Infinity
}

function wantsEvents(context: AppContext): boolean {
  return /(^|,)\s*text\/event-stream\b/i.test(context.req.header('accept') ?? '')
}

export function lastEventId(context: AppContext): number | null {
  const given = context.req.header('last-event-id')
  return given !== undefined && /^\d{1,15}$/.test(given) ? Number(given) : null
}

function processView(info: ProcessInfo): ProcessView {
  return { ...info, command: [...info.command], startedAt: info.startedAt.toISOString() }
}
