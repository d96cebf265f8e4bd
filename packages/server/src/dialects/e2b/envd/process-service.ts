import { HearthError, type Process, type ProcessExit, type SpawnOptions } from '@hearth/contract'
import type { Draft, Message } from '../connect/messages.ts'
import { toE2bId } from '../ids.ts'
import { resolvePath, type EnvdCall } from './envd-call.ts'
import { requireTag } from './started-processes.ts'
import { clientStream, serverStream, timeLimit, unary, type Rpc, type Streaming } from './rpc.ts'

/** An offset behind all output: whoever connects reads only what comes. */
const AT_THE_END = Number.MAX_SAFE_INTEGER
const KEEPALIVE = { event: { keepalive: {} } } as const

/** envd's service for processes, every method. */
export const PROCESS_SERVICE: Readonly<Record<string, Rpc>> = {
  Start: serverStream('exec', ['StartRequest', 'ProcessEvents'], KEEPALIVE, start),
  Connect: serverStream('exec', ['Selected', 'ProcessEvents'], KEEPALIVE, connect),
  List: unary('exec', ['Empty', 'ListResponse'], list),
  SendInput: unary('exec', ['SendInputRequest', 'Empty'], async (call, { process, input }) => {
    await write(call, process, input)
    return {}
  }),
  StreamInput: clientStream('exec', ['StreamInputRequest', 'Empty'], streamInput),
  SendSignal: unary('exec', ['SendSignalRequest', 'Empty'], async (call, { process, signal }) => {
    if (signal === 'SIGNAL_UNSPECIFIED') throw new HearthError('invalid_request', 'signal: is missing')
    await control(call, process, (target) =>
      signal === 'SIGNAL_SIGKILL' ? target.kill() : target.signal(signal.slice('SIGNAL_'.length)),
    )
    return {}
  }),
  CloseStdin: unary('exec', ['Selected', 'Empty'], async (call, { process }) => {
    await control(call, process, (target) => target.closeStdin())
    return {}
  }),
  Update: unary('exec', ['UpdateRequest', 'Empty'], async (call, { process, pty }) => {
    const size = pty?.size
    if (size !== undefined)
      await control(call, process, (target) => target.resize({ cols: size.cols, rows: size.rows }))
    return {}
  }),
}

async function start(call: EnvdCall, request: Message<'StartRequest'>): Promise<Following> {
  const { sandbox, e2b, operation } = call
  const { process: config, pty } = request
  if (config === undefined || config.cmd === '') throw new HearthError('invalid_request', 'process.cmd: is missing')
  requireTag(request.tag)
  const options = await optionsOf(call, request)
  const process = await sandbox.spawn([config.cmd, ...config.args], options).catch((error: unknown) => {
    throw startFailure(error, config.cwd)
  })
  await e2b.started.add(sandbox, process, request)
  operation.name = pty === undefined ? 'e2b.process.start' : 'e2b.process.terminal'
  return following(process, pty !== undefined)
}

async function optionsOf(call: EnvdCall, request: Message<'StartRequest'>): Promise<SpawnOptions> {
  const { sandbox, user } = call
  const { process: config, pty, stdin } = request
  const timeoutMs = timeLimit(call)
  const size = pty?.size
  return {
    env: {
      E2B_SANDBOX: 'true',
      E2B_SANDBOX_ID: toE2bId(sandbox.id),
      E2B_TEMPLATE_ID: sandbox.info.template,
      ...config?.envs,
    },
    stdin: stdin === false ? 'none' : 'pipe',
    ...(config?.cwd === undefined || config.cwd === '' ? {} : { cwd: await resolvePath(call, config.cwd) }),
    ...(user === null ? {} : { user }),
    ...(pty === undefined ? {} : { pty: { rows: size?.rows || 24, cols: size?.cols || 80 } }),
    ...(timeoutMs === null ? {} : { timeoutMs }),
  }
}

async function connect(call: EnvdCall, { process: selector }: Message<'Selected'>): Promise<Following> {
  const { id } = await call.e2b.started.find(call.sandbox, selector)
  const terminal = (await call.e2b.started.of(call.sandbox)).get(id)?.terminal ?? false
  return following(await call.sandbox.attach(id, { offset: AT_THE_END }), terminal)
}

type Following = Streaming<'ProcessEvents'> & AsyncDisposable

/** The process goes on when its reader goes; it ends by its own time limit. */
function following(process: Process, terminal: boolean): Following {
  return {
    stop: () => void process.detach(),
    deadlineMs: null,
    work: async (send) => {
      await send({ event: { start: { pid: process.pid } } })
      for await (const { stream, data } of process.output) {
        await send({ event: { data: terminal ? { pty: data } : { [stream]: data } } })
      }
      const exit = await process.wait()
      if (exit.timedOut) throw new HearthError('timeout', 'the command ran longer than its time limit')
      await send({ event: { end: endOf(exit) } })
    },
    [Symbol.asyncDispose]: () => process.detach(),
  }
}

function endOf({ exitCode, signal, oom }: ProcessExit): Draft<'EndEvent'> {
  const status = signal === null ? `exit status ${exitCode ?? 0}` : `signal: ${SIGNAL_TEXTS[signal] ?? signal}`
  const failed = exitCode !== 0
  return {
    exitCode: exitCode ?? -1,
    exited: signal === null,
    status,
    ...(failed ? { error: oom ? `${status} (out of memory)` : status } : {}),
  }
}

/** As Go names them, in which clients were written against. */
const SIGNAL_TEXTS: Readonly<Record<string, string>> = { SIGKILL: 'killed', SIGTERM: 'terminated', SIGINT: 'interrupt' }

async function list({ sandbox, e2b }: EnvdCall): Promise<Draft<'ListResponse'>> {
  const running = (await sandbox.processes()).filter(({ exit }) => exit === null)
  const started = await e2b.started.of(sandbox)
  return {
    processes: running.map(({ id, pid, command }) => {
      const known = started.get(id)
      const [cmd = '', ...args] = command
      return { pid, config: known?.config ?? { cmd, args }, ...(known?.tag === undefined ? {} : { tag: known.tag }) }
    }),
  }
}

async function control(
  { e2b, sandbox }: EnvdCall,
  selector: Message<'Selector'> | undefined,
  work: (process: Process) => Promise<void>,
): Promise<void> {
  const { id, exit } = await e2b.started.find(sandbox, selector)
  if (exit !== null) throw new HearthError('process_not_found', 'the process has ended')
  await e2b.services.processes.control(sandbox, id, work)
}

async function write(
  call: EnvdCall,
  selector: Message<'Selector'> | undefined,
  input: Message<'ProcessInput'> | undefined,
): Promise<void> {
  const bytes = input?.stdin ?? input?.pty
  if (bytes !== undefined) await control(call, selector, (process) => process.write(bytes))
}

async function streamInput(
  call: EnvdCall,
  messages: AsyncIterable<Message<'StreamInputRequest'>>,
): Promise<Draft<'Empty'>> {
  let selector: Message<'Selector'> | undefined
  for await (const { start: begun, data } of messages) {
    if (begun !== undefined) selector = begun.process
    else if (data !== undefined) {
      if (selector === undefined) throw new HearthError('invalid_request', 'data comes before the process is named')
      await write(call, selector, data.input)
    }
  }
  return {}
}

function startFailure(error: unknown, cwd: string | undefined): unknown {
  if (!HearthError.isInstance(error) || error.code !== 'spawn_failed') return error
  // The clients show it to people as it is.
  const message = cwd !== undefined && /director/.test(error.message) ? `cwd '${cwd}' does not exist` : error.message
  return new HearthError('spawn_failed', message, { cause: error })
}
