import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { HearthError } from '@hearth/contract'
import { TEMPLATE_PATH } from '../base-files.ts'
import type { Progress } from '../template.ts'

const KEPT_LINES = 40
const PROGRESS_MS = 1000
const KILL_AFTER_MS = 5000

export interface BuildCommand {
  /** What failures are said of. */
  readonly tool: string
  readonly argv: readonly string[]
  readonly input: string
  /** What to do when it fails; null for the usual advice. */
  readonly suggestion: string | null
  readonly progress: Progress
  readonly signal: AbortSignal
  /** Takes standard output; the command has not succeeded before this has. */
  readonly consume: (output: Readable) => Promise<void>
}

/** Runs a build tool, tells its steps at most once a second, and fails with the end of what it said. */
export async function runBuild(command: BuildCommand): Promise<void> {
  const { argv, input, progress, signal } = command
  signal.throwIfAborted()
  const [program = '', ...rest] = argv
  // A group of its own, so that an abort reaches what the tool started too.
  const child = spawn(program, rest, { stdio: ['pipe', 'pipe', 'pipe'], detached: true, env: buildEnvironment() })
  const abort = (): void => endGroup(child)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const last: string[] = []
    const told = tellSteps(child.stderr, progress, last)
    child.stdin.on('error', () => undefined).end(input)
    const [code] = await Promise.all([exitOf(child), told, command.consume(child.stdout)])
    signal.throwIfAborted()
    if (code === 0) return
    throw new HearthError('template_build_failed', `${command.tool} failed:\n${last.join('\n')}`, {
      context: { code },
      ...(command.suggestion === null ? {} : { suggestion: command.suggestion }),
    })
  } finally {
    signal.removeEventListener('abort', abort)
    if (child.exitCode === null && child.signalCode === null) endGroup(child)
  }
}

/** Nothing of ours but where programs are and how the network is reached. */
function buildEnvironment(): NodeJS.ProcessEnv {
  const names = ['http_proxy', 'https_proxy', 'no_proxy', 'HOME', 'TMPDIR']
  const kept = names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]]))
  return { ...Object.fromEntries(kept), PATH: TEMPLATE_PATH, LC_ALL: 'C.UTF-8', DEBIAN_FRONTEND: 'noninteractive' }
}

async function tellSteps(errors: Readable, progress: Progress, last: string[]): Promise<void> {
  let toldAt = 0
  for await (const line of createInterface({ input: errors })) {
    last.push(line)
    if (last.length > KEPT_LINES) last.shift()
    const step = /^I: (?!running --)(.*)/.exec(line)?.[1]
    const detail = /^(Get:\d+ .*|Unpacking .*|Setting up .*)/.exec(line)?.[1]
    if (step === undefined && (detail === undefined || performance.now() - toldAt < PROGRESS_MS)) continue
    toldAt = performance.now()
    progress((step ?? detail ?? '').slice(0, 120))
  }
}

async function exitOf(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<number | null> {
  return await new Promise((resolve, reject) => {
    child.once('exit', resolve)
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const missing = cause.code === 'ENOENT'
      reject(
        new HearthError('template_build_failed', `${child.spawnfile} could not be started: ${cause.message}`, {
          cause,
          ...(missing ? { suggestion: 'Install mmdebstrap, for example with `apt-get install mmdebstrap`.' } : {}),
        }),
      )
    })
  })
}

function endGroup(child: ChildProcessByStdio<Writable, Readable, Readable>): void {
  const { pid } = child
  if (pid === undefined) return
  signalGroup(pid, 'SIGTERM')
  setTimeout(() => {
    if (child.exitCode === null && child.signalCode === null) signalGroup(pid, 'SIGKILL')
  }, KILL_AFTER_MS).unref()
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // It has ended in the meantime.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
