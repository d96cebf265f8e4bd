import { HearthError, type ExecResult, type ProcessExit } from '@hearth/contract'
import { constants } from 'node:os'
import { z } from 'zod'
import { endInterpreter } from '../end-interpreter.ts'
import { clientSignal } from '../../http/outliving.ts'
import { ResponseWriter } from '../../http/streams/response-writer.ts'
import { routes, type Answer, type Call, type Route } from './call.ts'

const commandSchema = z.object({
  cmd: z
    .string()
    .min(1, 'cmd required')
    .max(1024 * 1024),
  timeout_seconds: z.number().positive().max(86_400).nullish(),
})
const runSchema = z.object({ code: z.string().max(1024 * 1024), timeout_ms: z.int().min(1).nullish() })

/** Commands and code. */
export const COMMAND_ROUTES: readonly Route[] = routes('exec', {
  'POST /sandboxes/{id}/exec': ['exec', execute],
  'POST /sandboxes/{id}/exec/stream': ['exec', stream],
  'GET /sandboxes/{id}/logs': ['exec', logs],
  'POST /sandboxes/{id}/repl/sessions': ['exec', openSession],
  'GET /sandboxes/{id}/repl/sessions': ['exec', listSessions],
  'DELETE /sandboxes/{id}/repl/sessions/{session}': ['exec', closeSession],
  'POST /sandboxes/{id}/repl/sessions/{session}/run': ['exec', runCode],
})

async function execute(call: Call): Promise<Answer> {
  const { cmd, timeout_seconds } = await call.body(commandSchema)
  const limit = timeLimit(timeout_seconds)
  const result = await call.outliving((sandbox, signal) => sandbox.exec(cmd, { ...limit, signal }))
  if (result.timedOut) throw timedOut('the command', result.durationMs)
  const { stdout, stderr, durationMs } = result
  return { status: 200, json: { stdout, stderr, exit_code: exitCode(result), duration_ms: Math.round(durationMs) } }
}

/** The client ends at nothing but these events; its disconnect ends the command, and a stop of the server does not. */
async function stream(call: Call): Promise<Answer> {
  const { cmd, timeout_seconds } = await call.body(commandSchema)
  await call.inside(async (sandbox) => {
    const signal = clientSignal(call.operation)
    await using process = await sandbox.spawn(cmd, { ...timeLimit(timeout_seconds), signal })
    const events = new Events(call)
    const stopped: HearthError[] = []
    call.operation.streams((reason) => {
      stopped.push(reason)
      void process.detach()
    })
    const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
    for await (const { stream: name, data } of process.output) {
      await events.send(name, { chunk: decoders[name].decode(data, { stream: true }) })
    }
    const [reason] = stopped
    if (reason === undefined) await sendExit(events, await process.wait())
    else await events.send('error', { error: call.operation.failed(reason).message })
    events.end()
  })
  return null
}

async function sendExit(events: Events, exit: ProcessExit): Promise<void> {
  if (exit.timedOut) await events.send('error', { error: `command timeout after ${seconds(exit.durationMs)}` })
  else await events.send('exit', { exit_code: exitCode(exit) })
}

/** What commands have written, the newest last: a sandbox has no console of its own. */
async function logs(call: Call): Promise<Answer> {
  const following = call.query('follow') === '1'
  await call.inside(async (sandbox) => {
    const writer = new ResponseWriter(call.outgoing, call.services.limits.writeIdleMs)
    const type = following ? 'text/event-stream' : 'text/plain; charset=utf-8'
    call.outgoing.writeHead(200, { 'content-type': type, 'cache-control': 'no-store' })
    const ended = (await sandbox.processes()).filter(({ exit }) => exit !== null)
    for (const { id } of ended) {
      const process = await sandbox.attach(id)
      const pieces: Uint8Array[] = []
      for await (const { data } of process.output) pieces.push(data)
      const text = Buffer.concat(pieces).toString('utf8')
      for (const line of text.split('\n').filter((each) => each !== '')) {
        await writer.write(following ? `event: line\ndata: ${JSON.stringify({ line: `${line}\n` })}\n\n` : `${line}\n`)
      }
    }
    writer.end()
  })
  return null
}

async function openSession(call: Call): Promise<Answer> {
  const { language } = await call.body(z.object({ language: z.string().max(64).nullish() }))
  if ((language ?? 'python') !== 'python') throw new HearthError('invalid_request', 'language: only python')
  await call.plane.get(call.caller, call.sandboxId)
  return { status: 201, json: sessionView(await call.sessions.open(call.sandboxId)) }
}

async function listSessions(call: Call): Promise<Answer> {
  await call.plane.get(call.caller, call.sandboxId)
  return { status: 200, json: (await call.sessions.of(call.sandboxId)).map(sessionView) }
}

async function closeSession(call: Call): Promise<Answer> {
  const { state } = await call.plane.get(call.caller, call.sandboxId)
  const id = call.parameter('session')
  const begun = await call.sessions.close(id, call.sandboxId)
  // A sandbox that sleeps is not woken for it.
  if (begun && state === 'running') await call.inside((sandbox) => endInterpreter(sandbox, 'python', id))
  return { status: 204 }
}

async function runCode(call: Call): Promise<Answer> {
  const { code, timeout_ms } = await call.body(runSchema)
  await call.plane.get(call.caller, call.sandboxId)
  const id = call.parameter('session')
  const options = { context: id, ...(timeout_ms ? { timeoutMs: timeout_ms } : {}) }
  const result = await call.sessions.run(id, call.sandboxId, async (closed) =>
    call.outliving((sandbox, signal) =>
      sandbox.runCode(code, { ...options, signal: AbortSignal.any([signal, closed]) }),
    ),
  )
  if (result.timedOut) throw timedOut('the cell', result.durationMs)
  const { stdout, stderr, text, displays, error, durationMs } = result
  const shown = displays.map(({ data }) => data)
  return {
    status: 200,
    json: {
      stdout,
      stderr,
      exit: error === null ? 0 : 1,
      results: shown.length > 0 || text === null ? shown : [{ 'text/plain': text }],
      duration_ms: Math.round(durationMs),
      ...(error === null ? {} : { error: error.traceback || `${error.name}: ${error.message}` }),
    },
  }
}

function sessionView({ id, sandbox, createdAt }: { id: string; sandbox: string; createdAt: Date }): object {
  return { id, sandbox_id: sandbox, language: 'python', created_at: createdAt.toISOString() }
}

class Events {
  readonly #writer: ResponseWriter

  constructor({ outgoing, services }: Call) {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    outgoing.flushHeaders()
    this.#writer = new ResponseWriter(outgoing, services.limits.writeIdleMs)
  }

  async send(event: string, data: object): Promise<void> {
    await this.#writer.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  end(): void {
    this.#writer.end()
  }
}

function timeLimit(given: number | null | undefined): { timeoutMs?: number } {
  return given ? { timeoutMs: Math.max(1, Math.ceil(given * 1000)) } : {}
}

function exitCode({ exitCode: code, signal }: Pick<ExecResult, 'exitCode' | 'signal'>): number {
  if (code !== null) return code
  const numbers: Readonly<Record<string, number>> = constants.signals
  return 128 + (numbers[signal ?? ''] ?? 0)
}

/** The client makes a timeout of an error of the server that has this word in it. */
function timedOut(what: string, durationMs: number): HearthError {
  return new HearthError('timeout', `${what} was ended by its timeout after ${seconds(durationMs)}`)
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} s`
}
