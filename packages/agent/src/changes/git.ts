import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { HearthError } from '@hearth/contract'

export interface GitOptions {
  readonly directory: string
  readonly workTree?: string
  readonly indexFile?: string
  readonly input?: Iterable<Uint8Array> | AsyncIterable<Uint8Array>
  /** More output than this is an error. Default 64 MiB. */
  readonly mostBytes?: number
  /** Exit codes that are no failure. Default 0 alone. */
  readonly accept?: readonly number[]
}

const MOST_BYTES = 64 * 1024 * 1024

/** Nothing of the host's or the repository's configuration counts, and nothing but plain files is run: no hook, no filter, no pager. */
const CONFIGURATION = [
  'core.hooksPath=/dev/null',
  'core.compression=1',
  'core.protectNTFS=false',
  'core.protectHFS=false',
  'gc.auto=0',
]

/** Runs the git of the host on a repository that no sandbox can reach. */
export async function git(args: readonly string[], options: GitOptions): Promise<Buffer> {
  const child = spawn('git', [...CONFIGURATION.flatMap((line) => ['-c', line]), ...args], {
    env: {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: options.directory,
      GIT_DIR: options.directory,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_ATTR_NOSYSTEM: '1',
      LC_ALL: 'C',
      ...(options.workTree === undefined ? {} : { GIT_WORK_TREE: options.workTree }),
      ...(options.indexFile === undefined ? {} : { GIT_INDEX_FILE: options.indexFile }),
    },
    ...(options.workTree === undefined ? {} : { cwd: options.workTree }),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const fed = feed(child.stdin, options.input ?? [])
  try {
    const mostBytes = options.mostBytes ?? MOST_BYTES
    const [output, problems, code] = await Promise.all([
      collect(child.stdout, mostBytes),
      collect(child.stderr, MOST_BYTES),
      ended,
    ])
    // What went wrong with the input is the cause, where there is something: git merely noticed.
    const cause = await fed
    if (cause !== null) throw cause
    if (!(options.accept ?? [0]).includes(code ?? -1)) throw failed(args, problems.toString())
    return output
  } catch (error) {
    child.kill('SIGKILL')
    await fed
    if (HearthError.isInstance(error)) throw error
    throw failed(args, String(error), error)
  }
}

/** Resolves with what went wrong, or null. A git that ended early says why itself. */
async function feed(stdin: NodeJS.WritableStream, input: NonNullable<GitOptions['input']>): Promise<Error | null> {
  try {
    await pipeline(Readable.from(input), stdin)
    return null
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE' ? null : (error as Error)
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

function failed(args: readonly string[], message: string, cause?: unknown): HearthError {
  return new HearthError('internal', `git ${args[0]} failed: ${message.trim().slice(0, 2000)}`, {
    cause,
    suggestion: 'Check that git is installed on this host.',
  })
}
