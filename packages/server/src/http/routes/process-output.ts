import { z } from '@hono/zod-openapi'
import { HearthError, outputEventSchema, type Process, type Sandbox } from '@hearth/contract'
import type { App, AppContext, Services } from '../app-env.ts'
import { describeRoute, eventAnswer, processParameters, queryBoolean, queryInteger } from '../openapi.ts'
import { withSandbox } from '../sandbox-use.ts'
import { answerWithEvents, lastEventId, type EventStream } from '../streams/event-stream.ts'
import { sendOutput } from '../streams/send-output.ts'

export const FOLLOWING = 'Output as it comes. A reader that goes away leaves the process running.'

const outputQuery = z.object({
  offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
  follow: queryBoolean.optional(),
})

export function outputRoute(app: App, services: Services): void {
  const output = describeRoute(
    { name: 'process.output', summary: 'Follow the output of a process from an offset', scope: 'exec' },
    {
      method: 'get',
      path: '/v1/sandboxes/{id}/processes/{process}/output',
      request: { params: processParameters, query: outputQuery },
      responses: { 200: eventAnswer(outputEventSchema, FOLLOWING) },
    },
  )
  app.openapi(output, async (context) => {
    const { process: id } = context.req.valid('param')
    const query = context.req.valid('query')
    const offset = query.offset ?? lastEventId(context) ?? 0
    return await withSandbox(services, context, async (sandbox) => {
      const until = query.follow === false ? await endOfOutput(sandbox, id) : Infinity
      const process = await sandbox.attach(id, { offset: Math.min(offset, until) })
      return await follow(context, services, process, { offset, until })
    })
  })
}

interface Part {
  readonly offset: number
  readonly until: number
}

/** The answer is the output; the process is let go when the answer ends, whatever ends it. */
export async function follow(
  context: AppContext,
  services: Services,
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
    await process.detach()
  }
}

async function endOfOutput(sandbox: Sandbox, id: number): Promise<number> {
  const info = (await sandbox.processes()).find((process) => process.id === id)
  if (info === undefined) throw new HearthError('process_not_found', `there is no process ${id}`)
  // One that has ended is read to its end, with its exit.
  return info.exit === null ? info.outputBytes : Infinity
}
