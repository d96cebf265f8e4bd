import { isUtf8 } from 'node:buffer'
import {
  execRequestSchema,
  execResponseSchema,
  execStreamRequestSchema,
  HearthError,
  outputEventSchema,
  type ExecResponse,
  type ExecResult,
  type Process,
  type Sandbox,
} from '@hearth/contract'
import { collectOutput, commandTimeMs } from '@hearth/engine'
import type { z } from 'zod'
import type { App, AppContext, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, eventAnswer, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
import { clientSignal, unlessStopped } from '../outliving.ts'
import { withSandbox } from '../sandbox-use.ts'
import { answerWithEvents } from '../streams/event-stream.ts'
import { sendOutput } from '../streams/send-output.ts'

export function execRoutes(app: App, services: Services): void {
  const before = boundedJson(services.limits, services.limits.commandBytes)

  const exec = describeRoute(
    { name: 'exec.run', summary: 'Run a command to its end', scope: 'exec', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/exec',
      request: { params: sandboxParameters, ...jsonBody(execRequestSchema) },
      responses: { 200: jsonAnswer(execResponseSchema, 'It has ended; how is data, not an error.') },
    },
  )
  app.openapi(exec, async (context) => {
    const request = context.req.valid('json')
    const operation = context.get('operation')
    const early = earlyAnswer(context, services)
    const work = withSandbox(services, context, async (sandbox) => {
      const process = await start(services, sandbox, request, clientSignal(operation))
      early.begun(process)
      const limit = Math.min(request.maxOutputBytes ?? sandbox.info.limits.outputBytes, services.limits.answerBytes)
      try {
        return execResponse(await unlessStopped(operation, collectOutput(process, limit), () => goesOn(process)))
      } finally {
        await process.detach()
      }
    })
    return await answerPatiently(context, services, 200, work, early.due)
  })

  const stream = describeRoute(
    { name: 'exec.stream', summary: 'Run a command and follow its output', scope: 'exec', before },
    {
      method: 'post',
      path: '/v1/sandboxes/{id}/exec/stream',
      request: { params: sandboxParameters, ...jsonBody(execStreamRequestSchema) },
      responses: {
        200: eventAnswer(outputEventSchema, 'Output as it comes. Closing the connection ends the command.'),
      },
    },
  )
  app.openapi(stream, async (context) => {
    const request = context.req.valid('json')
    return await withSandbox(services, context, async (sandbox) => {
      const process = await start(services, sandbox, request)
      let end: Promise<void> = Promise.resolve()
      const stop = (reason: HearthError): void => {
        end = endCommand(process, reason).catch((error: unknown) => {
          services.logger.warn({ event: 'command.not_killed', sandbox: sandbox.id, process: process.id, err: error })
        })
      }
      try {
        return await answerWithEvents(context, services, { stop, work: (events) => sendOutput(events, process) })
      } finally {
        await end
        await process.detach()
      }
    })
  })
}

/** The command outlives the server, but not its client; after a restart the client finds it by its number. */
async function endCommand(process: Process, reason: HearthError): Promise<void> {
  if (reason.code !== 'shutting_down') await process.kill()
  await process.detach()
}

/**
 * Who asks for it (`Prefer: process`) learns the number of a command that takes a while before its answer, so that its result can
 * be found again when the connection breaks.
 */
function earlyAnswer(context: AppContext, services: Services) {
  const due = Promise.withResolvers<void>()
  const isAsked = context.req.header('prefer') === 'process'
  return {
    due: due.promise,
    begun: (process: Process): void => {
      context.env.outgoing.setHeader('x-hearth-process', process.id)
      if (isAsked) setTimeout(due.resolve, services.limits.processHeaderMs).unref()
    },
  }
}

function goesOn({ id }: Process): HearthError {
  return new HearthError('shutting_down', `the server is being stopped, and the command goes on as process ${id}`, {
    context: { process: id },
    suggestion: `Follow process ${id} of the sandbox once the server runs again; do not run the command a second time.`,
  })
}

type Request = z.output<typeof execStreamRequestSchema> & { readonly maxOutputBytes?: number | undefined }

async function start(services: Services, sandbox: Sandbox, request: Request, signal?: AbortSignal): Promise<Process> {
  const { command, input, maxOutputBytes: _, timeoutMs: asked, ...options } = request
  const timeoutMs = commandTimeMs(sandbox.info.limits, asked)
  const stdin = input === undefined ? 'none' : 'pipe'
  const process = await sandbox.spawn(command, {
    ...options,
    stdin,
    timeoutMs,
    ...(signal === undefined ? {} : { signal }),
  } as Parameters<Sandbox['spawn']>[1] & object)
  if (input !== undefined) void feed(process, Buffer.from(input, 'base64'))
  return process
}

/** A command that ends before it has read its input is no error: its result says what it did. */
async function feed(process: Process, input: Uint8Array): Promise<void> {
  try {
    await process.write(input)
    await process.closeStdin()
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error
  }
}

function execResponse(result: ExecResult): ExecResponse {
  const { stdoutBytes, stderrBytes, ...rest } = result
  return {
    ...rest,
    ...(isUtf8(stdoutBytes) ? {} : { stdoutBase64: Buffer.from(stdoutBytes).toString('base64') }),
    ...(isUtf8(stderrBytes) ? {} : { stderrBase64: Buffer.from(stderrBytes).toString('base64') }),
  }
}
