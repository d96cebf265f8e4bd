import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HearthError } from '@hearth/contract'
import { configurationArguments, gitEnvironment, type GitPlace, type GitReach } from './git-environment.ts'

export interface GitOptions extends GitPlace {
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
  /** More output than this is an error. Default 64 MiB. */
  readonly mostBytes?: number
  /** Exit codes that are no failure. Default 0 alone. */
  readonly accept?: readonly number[]
  /** It is ended after this. Default 10 minutes. */
  readonly timeoutMs?: number
  readonly signal?: AbortSignal
  readonly reach?: GitReach
  /** Variables for who writes and when, as `GIT_AUTHOR_NAME`. */
  readonly identity?: Readonly<Record<string, string>>
  /** Every user may write to the files that it makes, as a sandbox's users must. */
  readonly openToAll?: boolean
  /** What each of its programs may have of memory of its own, without what it has mapped of files. Default: no bound. */
  readonly memoryBytes?: number
  /** Makes the error of a failure from what git wrote to standard error. Default: `internal`. */
  readonly failure?: (problems: string) => HearthError
}

const SETPRIV = '/usr/bin/setpriv'
/** Comes before a program that must not outlive the one that started it, however that ends. Of util-linux; without it the end is later. */
export const TIED: readonly string[] = existsSync(SETPRIV) ? [SETPRIV, '--pdeathsig', 'KILL', '--'] : []

const MOST_BYTES = 64 * 1024 * 1024
/** Of what git says about problems the end is kept: a server that is spoken to may say any amount. */
const PROBLEM_BYTES = 64 * 1024
const TIMEOUT_MS = 600_000

/** Runs the git of the host on a repository that no sandbox can reach. Nothing of it, or of what it started, outlives the call. */
export async function git(args: readonly string[], options: GitOptions): Promise<Buffer> {
  const [program, ...words] = [...opening(options), ...configurationArguments(options.reach), ...args]
  const child = spawn(program, words, {
    // Whatever works on a repository works in its directory, by which leftovers of a dead process are found.
    cwd: options.workTree ?? options.directory,
    env: { ...gitEnvironment(options, options.reach), ...options.identity },
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const limits = AbortSignal.any([
    AbortSignal.timeout(options.timeoutMs ?? TIMEOUT_MS),
    ...(options.signal === undefined ? [] : [options.signal]),
  ])
  const end = (): void => endGroup(child)
  limits.addEventListener('abort', end, { once: true })
  if (limits.aborted) end()
  const input = new Input(child.stdin, options.input ?? [])
  try {
    const [output, problems, code] = await Promise.all([
      collect(child.stdout, options.mostBytes ?? MOST_BYTES),
      collectEnd(child.stderr),
      ended,
    ])
    // What went wrong with the input is the cause, where there is something: git merely noticed.
    if (input.failure !== null) throw input.failure
    if (limits.aborted) throw stopped(args, options.signal)
    if (!(options.accept ?? [0]).includes(code ?? -1)) throw (options.failure ?? internalFailure(args))(problems.trim())
    return output
  } catch (error) {
    endGroup(child)
    if (HearthError.isInstance(error)) throw error
    throw internalFailure(args, error)(String(error))
  } finally {
    limits.removeEventListener('abort', end)
  }
}

/** Node has one mask and one set of limits for all that it does, so that a shell sets those of git alone. What speaks to others ends with this process. */
function opening({ openToAll = false, memoryBytes, reach }: GitOptions): [string, ...string[]] {
  const settings = [
    ...(openToAll ? ['umask 000'] : []),
    ...(memoryBytes === undefined ? [] : [`ulimit -d ${Math.ceil(memoryBytes / 1024)}`]),
  ]
  const words = [...(reach === undefined ? [] : TIED), 'git']
  if (settings.length > 0) return ['sh', '-c', `${settings.join(' && ')} && exec "$@"`, 'sh', ...words]
  const [program, ...more] = words
  return [program as string, ...more]
}

/** With what it started: transports and packers are processes of their own. */
function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** What git is fed with. Nobody waits for it: one that goes on after git has ended is left to its own. */
class Input {
  /** What went wrong with it. It is there before git has noticed. A git that ended early says why itself. */
  failure: Error | null = null

  constructor(stdin: NodeJS.WritableStream, source: NonNullable<GitOptions['input']>) {
    pipeline(Readable.from(source), stdin).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') this.failure = error
    })
  }
}

async function collect(stream: Readable, mostBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += (chunk as Buffer).length
    if (size > mostBytes) throw new HearthError('body_too_large', `git wrote more than ${mostBytes} bytes`)
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks)
}

async function collectEnd(stream: Readable): Promise<string> {
  let kept = Buffer.alloc(0)
  for await (const chunk of stream) kept = Buffer.concat([kept, chunk as Buffer]).subarray(-PROBLEM_BYTES)
  return kept.toString()
}

function stopped(args: readonly string[], signal: AbortSignal | undefined): HearthError {
  if (signal?.aborted !== true) return new HearthError('timeout', `git ${args[0]} took too long`)
  if (HearthError.isInstance(signal.reason)) return signal.reason
  return new HearthError('aborted', `git ${args[0]} was given up`, { cause: signal.reason })
}

function internalFailure(args: readonly string[], cause?: unknown): (problems: string) => HearthError {
  return (problems) =>
    new HearthError('internal', `git ${args[0]} failed: ${problems.trim().slice(0, 2000)}`, {
      cause,
      suggestion: 'Check that git is installed on this host.',
    })
}
