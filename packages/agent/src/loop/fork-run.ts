import { constants } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  HearthError,
  newId,
  type AgentEvent,
  type AgentEventBody,
  type ForkOptions,
  type RunId,
  type Sandbox,
} from '@hearth/contract'
import { MemoryEventLog, type EventLog } from '../events/event-log.ts'

export interface ForkRunOptions extends Pick<ForkOptions, 'memory' | 'ttlMs' | 'metadata' | 'policy' | 'signal'> {
  /** As it was at the event that the conversation is taken up to. It is forked as it is now. */
  readonly sandbox: Sandbox
  readonly log: EventLog
  /** Where the run keeps the state of its working directory: the children use it too, or each a copy of its own. */
  readonly state?: { readonly directory: string; readonly copied: boolean }
  /** Default 1. */
  readonly count?: number
  /** The last event that the children know. Default: the last there is. */
  readonly upTo?: number
  /** What each child is told before its next reply. */
  readonly message?: (child: number) => string
  /** Where each child is written down; it must be empty. Default: in memory. */
  readonly logOf?: (child: number) => EventLog | Promise<EventLog>
}

/** A child that nobody works on yet: `resumeAgent({ ...child, model })` does. Disposed, its machine is gone, and its copy of the state. */
export interface ForkedRun extends AsyncDisposable {
  readonly run: string
  readonly parent: { readonly run: string; readonly seq: number }
  readonly sandbox: Sandbox
  readonly log: EventLog
  readonly stateDirectory?: string
  /** Whether what ran in the parent's sandbox goes on in this one. */
  readonly memory: boolean
}

/** Forks machine and conversation together. All children, or an error and none; the parent is as it was. */
export async function forkRun(options: ForkRunOptions): Promise<ForkedRun[]> {
  const { sandbox, count = 1, memory, ttlMs, metadata, policy, signal } = options
  const past = conversation(await options.log.read(), options.upTo)
  const given = { memory, ttlMs, metadata, policy, signal }
  const forkOptions = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  const { children, memory: goesOn } = await sandbox.fork(count, forkOptions)
  const made = await Promise.allSettled(
    children.map(async (child, index) => await makeChild(options, past, { sandbox: child, memory: goesOn }, index)),
  )
  const failed = made.find((one) => one.status === 'rejected')
  if (failed === undefined) return made.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  for (const one of made) if (one.status === 'fulfilled') await one.value[Symbol.asyncDispose]()
  await Promise.all(children.map(async (child) => await child.kill()))
  throw failed.reason
}

/** Goes on with a conversation in a machine that is a fork of its own already. The machine stays with whoever made it. */
export async function continueRun(
  options: Pick<ForkRunOptions, 'log' | 'upTo' | 'message' | 'logOf'> & { readonly run?: RunId | undefined },
  machine: Pick<ForkedRun, 'sandbox' | 'memory'>,
): Promise<Pick<ForkedRun, 'run' | 'parent' | 'sandbox' | 'log'>> {
  const past = conversation(await options.log.read(), options.upTo)
  const { run, parent, sandbox, log } = await makeChild(options, past, machine, 0)
  return { run, parent, sandbox, log }
}

/** What a child knows: everything up to an event, except that the parent has ended. */
function conversation(events: readonly AgentEvent[], upTo: number | undefined): readonly AgentEvent[] {
  const past = upTo === undefined ? events : events.filter(({ seq }) => seq <= upTo)
  const end = past.findIndex(({ type }) => type === 'stopped')
  const whole = end === -1 ? past : past.slice(0, end)
  if (whole[0]?.type !== 'started') throw new HearthError('not_found', 'the log holds no run')
  if (upTo !== undefined && past.at(-1)?.seq !== upTo) {
    throw new HearthError('invalid_request', `the run has no event ${upTo}`)
  }
  return whole
}

async function makeChild(
  {
    logOf,
    message,
    state,
    run = newId('run') as RunId,
  }: Pick<ForkRunOptions, 'logOf' | 'message' | 'state'> & { readonly run?: RunId | undefined },
  past: readonly AgentEvent[],
  machine: Pick<ForkedRun, 'sandbox' | 'memory'>,
  index: number,
): Promise<ForkedRun> {
  const last = past.at(-1)
  const parent = { run: runOf(past), seq: last?.seq ?? 0 }
  const log = (await logOf?.(index)) ?? new MemoryEventLog()
  const texts = [...(machine.memory ? [] : endedProcesses(past)), ...(message === undefined ? [] : [message(index)])]
  const bodies: AgentEventBody[] = [
    { type: 'forked', run, parent, sandbox: machine.sandbox.id, memory: machine.memory },
    ...texts.map((text) => ({ type: 'steered' as const, text })),
  ]
  for (const event of past) await log.append(event)
  for (const [offset, body] of bodies.entries()) {
    await log.append({ ...body, seq: past.length + offset, at: Date.now() })
  }
  const copy = state?.copied === true ? await copyState(state.directory) : null
  return {
    run,
    parent,
    log,
    ...machine,
    ...(state === undefined ? {} : { stateDirectory: copy ?? state.directory }),
    [Symbol.asyncDispose]: async () => {
      await machine.sandbox.kill()
      if (copy !== null) await rm(copy, { recursive: true, force: true })
    },
  }
}

function runOf(past: readonly AgentEvent[]): string {
  const named = past.findLast((event) => event.type === 'started' || event.type === 'forked')
  return named === undefined ? '' : named.run
}

function endedProcesses(past: readonly AgentEvent[]): string[] {
  const left = past.some((event) => event.type === 'tool_ended' && event.process !== undefined)
  return left
    ? ['This machine is a copy: what ran in the background does not run any more. Start it again if you need it.']
    : []
}

async function copyState(directory: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'hearth-agent-'))
  await cp(directory, copy, { recursive: true, mode: constants.COPYFILE_FICLONE })
  return copy
}
