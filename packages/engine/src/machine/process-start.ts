import { HearthError, type Process } from '@hearth/contract'
import { assertNotAborted, onAbort } from '../link/abort.ts'
import type { Channel, ChannelHandlers } from '../link/channel.ts'
import type { Link } from '../link/link.ts'
import type { Messages } from '../link/messages.gen.ts'
import { exactNumber, WireError } from '../link/wire.ts'
import { END_REPORT_MS, LinkProcess } from './link-process.ts'
import type { ProcessSpec } from './machine.ts'
import type { OomWatch } from './oom-watch.ts'

const LONGEST_TIMER_MS = 2 ** 31 - 1
const FLAGS = { terminal: 1, mergeOutput: 2, input: 4, ownNetwork: 8 } as const

/** Starts a command and attaches to it. The signal kills it. */
export function spawnProcess(
  link: Link,
  oomWatch: OomWatch,
  spec: ProcessSpec,
  signal?: AbortSignal,
): Promise<Process> {
  const reportMs = spec.timeoutMs + END_REPORT_MS
  const backstopMs = spec.timeoutMs === 0 || reportMs > LONGEST_TIMER_MS ? 0 : reportMs
  const takesInput = spec.stdin === 'pipe' || spec.pty !== null
  const opener = (handlers: ChannelHandlers): Channel => link.open('Spawn', spawnMessage(spec, takesInput), handlers)
  return new Promise((resolve, reject) => {
    assertNotAborted(signal)
    const openInput = async (channel: Channel): Promise<Channel> => {
      if (takesInput) return channel
      throw new HearthError('invalid_request', 'the process was spawned without standard input', {
        suggestion: 'Spawn it with `stdin: "pipe"`.',
      })
    }
    begin({ link, oomWatch, signal, opener, openInput, offset: 0, backstopMs, process: null }, resolve, reject)
  })
}

/** Takes up a process that runs or has ended. The signal detaches from it again. */
export function attachProcess(
  link: Link,
  oomWatch: OomWatch,
  process: number,
  offset: number,
  signal?: AbortSignal,
): Promise<Process> {
  const opener = (handlers: ChannelHandlers): Channel =>
    link.open('Attach', { process, offset: BigInt(offset) }, handlers)
  return new Promise((resolve, reject) => {
    assertNotAborted(signal)
    const openInput = async (): Promise<Channel> => openStdin(link, process)
    begin({ link, oomWatch, signal, opener, openInput, offset, backstopMs: 0, process }, resolve, reject)
  })
}

interface Beginning {
  readonly link: Link
  readonly oomWatch: OomWatch
  readonly signal: AbortSignal | undefined
  readonly opener: (handlers: ChannelHandlers) => Channel
  readonly openInput: (channel: Channel) => Promise<Channel>
  readonly offset: number
  /** Silence of the guest for this long after the start is its fault; 0 for no limit. */
  readonly backstopMs: number
  /** The process that Spawned must name; null for a new one. */
  readonly process: number | null
}

function begin(options: Beginning, resolve: (process: Process) => void, reject: (error: HearthError) => void): void {
  const oomMark = options.oomWatch.mark()
  let started: LinkProcess | null = null
  let aborted: HearthError | null = null
  const running = (): LinkProcess => {
    if (started === null) throw new WireError('output of a process before it was spawned')
    return started
  }
  const channel = options.opener({
    Spawned: (spawned) => {
      if (started !== null) throw new WireError('one process was spawned twice')
      if (options.process !== null && spawned.process !== options.process)
        throw new WireError('attached to another process')
      exactNumber(spawned.oldestOffset, 'the oldest offset')
      channel.limitSilence(options.backstopMs)
      const { link, oomWatch, offset, openInput } = options
      started = new LinkProcess({
        link,
        channel,
        spawned,
        oomWatch,
        oomMark,
        offset,
        openInput: () => openInput(channel),
      })
      if (aborted !== null) void started.abort(aborted)
      else resolve(started)
    },
    Output: (message, stable) => running().received(message, stable),
    Exited: (message) => {
      release()
      running().exited(message)
    },
    Close: () => {
      release()
      const error = new HearthError('aborted', 'the guest let go of the process')
      if (started === null) reject(error)
      else started.fail(error)
    },
    ended: (error) => {
      release()
      if (started === null) reject(error)
      else started.fail(error)
    },
    waitsForGuest: () => started?.waitsForGuest ?? true,
  })
  const release = onAbort(options.signal, (error) => {
    if (options.process !== null) return channel.fail(error)
    // Before Spawned there is nothing to kill yet: it is killed when its number is known.
    aborted = error
    reject(error)
    if (started !== null) void started.abort(error)
  })
}

function spawnMessage(spec: ProcessSpec, takesInput: boolean): Messages['Spawn'] {
  const environment: string[] = []
  for (const name in spec.env) environment.push(`${name}=${spec.env[name]}`)
  return {
    flags:
      (spec.pty === null ? 0 : FLAGS.terminal) |
      (spec.mergeOutput ? FLAGS.mergeOutput : 0) |
      (takesInput ? FLAGS.input : 0) |
      (spec.policy === undefined ? 0 : FLAGS.ownNetwork),
    argv: typeof spec.command === 'string' ? ['/bin/sh', '-c', spec.command] : spec.command,
    environment,
    cwd: spec.cwd ?? '',
    user: spec.user ?? '',
    timeoutMilliseconds: BigInt(spec.timeoutMs),
    rows: spec.pty?.rows ?? 0,
    cols: spec.pty?.cols ?? 0,
    policy: spec.policy ?? '',
  }
}

/** A channel for standard input of a process that another channel started. */
function openStdin(link: Link, process: number): Channel {
  return link.open(
    'Stdin',
    { process },
    {
      Done: () => {},
      // The end of this channel is seen by the writes: they find it closed.
      ended: () => {},
    },
    0,
  )
}
