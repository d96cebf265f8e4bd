import { z } from 'zod'
import { FAILURE_KINDS } from '../models/model-failure.ts'
import { FINISHES } from '../models/model.ts'

/** Why a run ended. `submitted` and `no_change` are the model's own ends; all others cut it short. */
export const STOP_REASONS = [
  'submitted',
  'no_change',
  'verify_failed',
  'steps',
  'tokens',
  'cost',
  'wall_time',
  'stuck',
  'malformed_calls',
  'no_tool_calls',
  'context_overflow',
  'model_failed',
  'sandbox_ended',
  'stopped',
] as const
export type StopReason = (typeof STOP_REASONS)[number]

/** How a call of a tool ended. `interrupted`: it had begun when the agent died or was stopped, and how far it came is not known. */
export const OUTCOMES = ['ok', 'failed', 'malformed', 'denied', 'interrupted'] as const
export type Outcome = (typeof OUTCOMES)[number]

const count = z.int().min(0)
const usageSchema = z.strictObject({
  inputTokens: count,
  cachedInputTokens: count,
  cacheWriteTokens: count,
  outputTokens: count,
})

const toolCallSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  input: z.unknown(),
  malformed: z.string().exactOptional(),
})

export const budgetLimitsSchema = z.strictObject({
  steps: z.int().min(1),
  tokens: z.int().min(1),
  /** Null: money is not counted. */
  dollars: z.number().min(0).nullable(),
  wallTimeMs: z.int().min(1),
})

const bodySchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('started'),
    run: z.string(),
    task: z.string(),
    model: z.string(),
    workdir: z.string(),
    verify: z.string().nullable(),
    budget: budgetLimitsSchema,
    /** The commit that the changes are counted from, or why there is none. */
    base: z.union([z.strictObject({ commit: z.string() }), z.strictObject({ missing: z.string() })]),
  }),
  /** Somebody took the run up again, in another process or after a pause. */
  z.strictObject({ type: z.literal('resumed') }),
  z.strictObject({ type: z.literal('paused') }),
  /** A message of a person; `reminded` is one of the loop itself. */
  z.strictObject({ type: z.literal('steered'), text: z.string() }),
  z.strictObject({ type: z.literal('reminded'), about: z.string(), text: z.string() }),
  z.strictObject({ type: z.literal('model_called'), turn: count }),
  z.strictObject({
    type: z.literal('model_failed'),
    kind: z.enum(FAILURE_KINDS),
    message: z.string(),
    retryInMs: z.number().nullable(),
  }),
  z.strictObject({
    type: z.literal('model_replied'),
    text: z.string(),
    calls: z.array(toolCallSchema),
    finish: z.enum(FINISHES),
    usage: usageSchema,
    dollars: z.number().min(0),
    replay: z.unknown().exactOptional(),
  }),
  /** Written before the tool does anything. `input` is what it runs with, which a hook may have changed. */
  z.strictObject({ type: z.literal('tool_started'), id: z.string(), name: z.string(), input: z.unknown() }),
  z.strictObject({
    type: z.literal('tool_ended'),
    id: z.string(),
    name: z.string(),
    outcome: z.enum(OUTCOMES),
    observation: z.string(),
    durationMs: z.number().min(0),
    /** A process that goes on in the sandbox. */
    process: count.exactOptional(),
  }),
  /** What came before `keptFrom` is told to the model as `digest` alone. */
  z.strictObject({ type: z.literal('compacted'), keptFrom: count, digest: z.string() }),
  z.strictObject({
    type: z.literal('submitted'),
    summary: z.string(),
    changed: z.boolean().nullable(),
    verified: z.boolean().nullable(),
    accepted: z.boolean(),
  }),
  z.strictObject({ type: z.literal('stopped'), reason: z.enum(STOP_REASONS), detail: z.string() }),
])

/** What happened, before it is written down. */
export type EventBody = z.output<typeof bodySchema>

export const eventSchema = z.intersection(z.object({ seq: count, at: z.number() }), z.looseObject({ type: z.string() }))

/** One thing that happened in a run. `seq` counts from 0 without a gap; `at` is in milliseconds since 1970. */
export type AgentEvent = EventBody & { readonly seq: number; readonly at: number }

/** Parses one event out of a log. Throws a zod error. */
export function parseEvent(value: unknown): AgentEvent {
  const { seq, at, ...body } = eventSchema.parse(value)
  return { ...bodySchema.parse(body), seq, at }
}
