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
import type { App, Services } from '../app-env.ts'
import { boundedJson } from '../bodies/json-body.ts'
import { answerPatiently } from '../bodies/patient-answer.ts'
import { describeRoute, eventAnswer, jsonAnswer, jsonBody, sandboxParameters } from '../openapi.ts'
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
    const { signal } = context.get('operation')
    const work = withSandbox(services, context, async (sandbox) => {
      const process = await start(services, sandbox, request, signal)
      const limit = request.maxOutputBytes ?? sandbox.info.limits.outputBytes
      try {
        return execResponse(await collectOutput(process, Math.min(limit, services.limits.answerBytes)))
      } finally {
        await process.detach()
      }
    })
    return await answerPatiently(context, services, 200, work)
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
