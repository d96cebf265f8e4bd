import { z } from 'zod'
import type { AgentEvent, BudgetLimits, Spent, StopReason } from './run-events.ts'

export type RunId = string & { readonly __brand: 'RunId' }

/** `run_` and 20 characters. */
export const runIdSchema = z
  .string()
  .regex(/^run_[0-9a-hjkmnp-tv-z]{20}$/)
  .transform((id) => id as RunId)

/** The life of a run. Whether somebody works on one that is `running` is a matter of its lease. */
export const RUN_STATES = ['running', 'paused', 'stopped'] as const
export type RunState = (typeof RUN_STATES)[number]

const NEXT_STATES: Readonly<Record<RunState, readonly RunState[]>> = {
  running: ['running', 'paused', 'stopped'],
  paused: ['running', 'stopped'],
  stopped: [],
}

/** What a run has come to, as far as everybody needs to know it: nothing but the sum of its events. */
export interface RunProgress {
  readonly state: RunState
  readonly reason: StopReason | null
  readonly detail: string | null
  readonly sandbox: string | null
  readonly spent: Spent
  /** When the last event was, in milliseconds since 1970. */
  readonly lastAt: number | null
  /** The number of the last message that took effect. */
  readonly message: number
  /** All that came of it is written down. */
  readonly complete: boolean
}

export const NO_PROGRESS: RunProgress = {
  state: 'running',
  reason: null,
  detail: null,
  sandbox: null,
  spent: { steps: 0, tokens: 0, dollars: 0, wallTimeMs: 0 },
  lastAt: null,
  message: 0,
  complete: false,
}

/** Null for an event that cannot come now: nothing follows the end of a run but its result, once. */
export function progressOf(before: RunProgress, event: AgentEvent): RunProgress | null {
  const ended = before.state === 'stopped'
  if (ended ? before.complete || event.type !== 'result' : event.type === 'result') return null
  const state = stateAfter(event) ?? before.state
  if (!ended && state !== before.state && !NEXT_STATES[before.state].includes(state)) return null
  // What its parent was told was not told to a fork.
  const told = event.type === 'forked' ? 0 : before.message
  const message = 'message' in event && typeof event.message === 'number' ? event.message : told
  return {
    state,
    reason: event.type === 'stopped' ? event.reason : before.reason,
    detail: event.type === 'stopped' ? event.detail : before.detail,
    sandbox: sandboxOf(event) ?? before.sandbox,
    spent: spentAfter(before, event),
    lastAt: event.at,
    message: Math.max(told, message),
    complete: event.type === 'result',
  }
}

/** Before these nobody worked on it. */
const TAKEN_UP: ReadonlySet<AgentEvent['type']> = new Set(['resumed', 'forked'])

function stateAfter(event: AgentEvent): RunState | null {
  if (event.type === 'paused') return 'paused'
  if (TAKEN_UP.has(event.type)) return 'running'
  return event.type === 'stopped' ? 'stopped' : null
}

function sandboxOf(event: AgentEvent): string | null {
  return 'sandbox' in event ? (event.sandbox ?? null) : null
}

function spentAfter({ spent, lastAt, state }: RunProgress, event: AgentEvent): Spent {
  // In a pause, and between the last event and one that takes the run up again, nobody works on it.
  const passes = lastAt !== null && !TAKEN_UP.has(event.type) && state === 'running'
  // What a sub-agent uses is used by the run that it works for.
  const happened = event.type === 'sub_agent' ? event.event : event
  const used = happened.type === 'model_replied' || happened.type === 'model_failed' ? happened : null
  const { inputTokens = 0, outputTokens = 0 } = used?.usage ?? {}
  return {
    steps: spent.steps + (happened.type === 'model_called' ? 1 : 0),
    tokens: spent.tokens + inputTokens + outputTokens,
    dollars: spent.dollars + (used?.dollars ?? 0),
    wallTimeMs: spent.wallTimeMs + (passes ? Math.max(0, event.at - lastAt) : 0),
  }
}

/** What somebody tells a run while it is worked on. */
export const RUN_MESSAGES = ['steer', 'pause', 'resume', 'stop'] as const
export type RunMessageKind = (typeof RUN_MESSAGES)[number]

/** Counted from 1 for each run. */
export interface RunMessage {
  readonly number: number
  readonly kind: RunMessageKind
  /** What the model is told, or why it is stopped. */
  readonly text: string
  readonly at: Date
}

/** One run of an agent that a server keeps. */
export interface RunInfo extends Omit<RunProgress, 'lastAt'> {
  readonly id: RunId
  readonly task: string
  readonly model: string
  readonly budget: BudgetLimits
  readonly workspace: string | null
  readonly parent: RunId | null
  readonly metadata: Readonly<Record<string, string>>
  /** Who works on it, and until when nobody else may; null when nobody does. */
  readonly driver: { readonly owner: string; readonly until: Date } | null
  /** How many events there are, and what they weigh. */
  readonly events: number
  readonly bytes: number
  /** How many messages it was sent. */
  readonly messages: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

/** The right to write a run down: a number that grows with each who takes it. */
export interface RunLease {
  readonly run: RunId
  readonly lease: number
  readonly until: Date
}

/** What whoever works on a run needs of the one who keeps it. Each call may be repeated. */
export interface RunKeeper {
  get(run: RunId): Promise<RunInfo>
  /** `conflict` when the first event is not the next one, or the lease is another's. */
  append(run: RunId, lease: number, events: readonly AgentEvent[]): Promise<void>
  /** From `after` on, in order, to the last one that there is now. */
  events(run: RunId, after?: number): AsyncIterable<AgentEvent>
  /** As they come, from `after` on, until the signal. */
  messages(run: RunId, after: number, signal: AbortSignal): AsyncIterable<RunMessage>
  /** Holds the run for another while. `conflict` when it is another's by now. */
  renew(lease: RunLease): Promise<RunLease>
  release(lease: RunLease): Promise<void>
}
