import { z } from 'zod'
import { grantSchema } from './grants/grant.ts'
import { BOUNDS } from './limits.ts'

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
  'log_full',
  'stopped',
] as const
export type StopReason = (typeof STOP_REASONS)[number]

/** How a call of a tool ended. `interrupted`: it had begun when the agent died or was stopped, and how far it came is not known. */
export const TOOL_OUTCOMES = ['ok', 'failed', 'malformed', 'denied', 'interrupted'] as const
export type ToolOutcome = (typeof TOOL_OUTCOMES)[number]

/** How a reply of a model ended. */
export const FINISHES = ['stop', 'tool-calls', 'length', 'content-filter', 'other'] as const
export type Finish = (typeof FINISHES)[number]

/** `overflow`: the conversation is too long for the model. `refused`: asking again will not help. */
export const MODEL_FAILURES = ['rate_limited', 'server_error', 'disconnected', 'overflow', 'refused'] as const
export type ModelFailureKind = (typeof MODEL_FAILURES)[number]

const count = z.int().min(0)
const dollarsPerMillion = z.number().min(0)
const priceSchema = z.strictObject({
  input: dollarsPerMillion,
  output: dollarsPerMillion,
  cachedInput: dollarsPerMillion.exactOptional(),
  cacheWrite: dollarsPerMillion.exactOptional(),
})
/** What a tool may do: `tool` is its name or `*`, `pattern` the command or path with `*` for any characters. The last rule that fits counts. */
export const permissionRuleSchema = z.strictObject({
  tool: z.string().min(1).max(BOUNDS.runPermissionCharacters),
  pattern: z.string().max(BOUNDS.runPermissionCharacters).exactOptional(),
  action: z.enum(['allow', 'ask', 'deny']),
})
export type PermissionRule = Readonly<z.output<typeof permissionRuleSchema>>

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

/**
 * What became of the change of a sub-agent. `outside`: it changed what it was not granted. `unfinished`: it did not submit it. `conflict`: others
 * changed the same meanwhile. Nothing of it was taken over but with `merged`.
 */
export const BROUGHT_BACK = ['merged', 'outside', 'unfinished', 'conflict', 'failed'] as const
export type BroughtBack = (typeof BROUGHT_BACK)[number]

export const budgetLimitsSchema = z.strictObject({
  steps: z.int().min(1),
  tokens: z.int().min(1),
  /** Null: money is not counted. */
  dollars: z.number().min(0).nullable(),
  wallTimeMs: z.int().min(1),
})
/** What a run may use. Checked before each call, so that it is exceeded by one call at the most. */
export type BudgetLimits = z.output<typeof budgetLimitsSchema>

const spentFields = {
  /** Calls of the model, also those whose reply was lost. */
  steps: count,
  tokens: count,
  dollars: z.number().min(0),
  /** Without pauses, and without the time in which nobody worked on it. */
  wallTimeMs: z.number().min(0),
}
export const spentSchema = z.strictObject(spentFields)
export type Spent = Readonly<z.output<typeof spentSchema>>

const changedFileSchema = z.strictObject({
  path: z.string(),
  /** Lines; null for what is not text. */
  added: count.nullable(),
  removed: count.nullable(),
  /** It looks like a test, or like what decides how tests are run. */
  test: z.boolean(),
})
export type ChangedFile = Readonly<z.output<typeof changedFileSchema>>

/** The message of a person that this event carries out. */
const message = z.int().min(1).exactOptional()

const ownBodySchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('started'),
    run: z.string(),
    task: z.string(),
    model: z.string(),
    sandbox: z.string().exactOptional(),
    workdir: z.string(),
    verify: z.string().nullable(),
    budget: budgetLimitsSchema,
    /** The commit that the changes are counted from, or why there is none. */
    base: z.union([z.strictObject({ commit: z.string() }), z.strictObject({ missing: z.string() })]),
    /** What it may do, and give on to sub-agents. Without one: what its process lets it do, and nothing is given on. */
    grant: grantSchema.exactOptional(),
    /** What the model costs, in dollars for a million tokens: for whoever goes on with it. Without one its cost is not counted. */
    price: priceSchema.exactOptional(),
    /** The rules that hold for it, also when another process goes on with it. */
    permissions: z.array(permissionRuleSchema).max(BOUNDS.runPermissions).exactOptional(),
    /** Hooks look at its calls: whoever goes on with it must give them again. */
    hooked: z.literal(true).exactOptional(),
  }),
  /** The run goes on as another one, in a fork of its sandbox. What came before is of the parent, up to its event `seq`. */
  z.strictObject({
    type: z.literal('forked'),
    run: z.string(),
    parent: z.strictObject({ run: z.string(), seq: count }),
    sandbox: z.string(),
    /** Whether what ran in the parent's sandbox goes on in this one. */
    memory: z.boolean(),
  }),
  /** Somebody took the run up again, in another process or after a pause. */
  z.strictObject({ type: z.literal('resumed'), sandbox: z.string().exactOptional(), message }),
  z.strictObject({ type: z.literal('paused'), message }),
  /** A message of a person; `reminded` is one of the loop itself. */
  z.strictObject({ type: z.literal('steered'), text: z.string(), message }),
  z.strictObject({ type: z.literal('reminded'), about: z.string(), text: z.string() }),
  z.strictObject({ type: z.literal('model_called'), turn: count }),
  z.strictObject({
    type: z.literal('model_failed'),
    kind: z.enum(MODEL_FAILURES),
    message: z.string(),
    retryInMs: z.number().nullable(),
    /** What had been used of a reply that broke off, as far as it can be told. */
    usage: usageSchema.exactOptional(),
    dollars: z.number().min(0).exactOptional(),
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
    outcome: z.enum(TOOL_OUTCOMES),
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
  /** After the change of a sub-agent was taken over, or was not. */
  z.strictObject({
    type: z.literal('brought_back'),
    run: z.string(),
    outcome: z.enum(BROUGHT_BACK),
    detail: z.string(),
    files: z.array(z.string()).max(BOUNDS.runFiles),
  }),
  z.strictObject({ type: z.literal('stopped'), reason: z.enum(STOP_REASONS), detail: z.string(), message }),
  /** All that came of the run. The last event: with it nobody needs the sandbox any more. */
  z.strictObject({
    type: z.literal('result'),
    reason: z.enum(STOP_REASONS),
    detail: z.string(),
    /** What the model said about its change, if it submitted one. */
    summary: z.string().nullable(),
    /** Whether the check passed; null without a check or a submission. */
    verified: z.boolean().nullable(),
    ...spentFields,
    files: z.array(changedFileSchema),
    /** Changed files that are not listed. */
    moreFiles: count,
    /** For `git apply`; null for one that there is not, that is not UTF-8, or that is too large to be kept here. */
    patch: z.string().nullable(),
    patchBase64: z.string().exactOptional(),
    /** Why there is no patch. */
    withoutPatch: z.string().nullable(),
  }),
])

/** What happened in one run, before it is written down. */
type OwnBody = z.output<typeof ownBodySchema>

const numbered = { seq: count, at: count }

const [first, ...others] = ownBodySchema.options.map((body) => body.extend(numbered))

const ownEvents = [first, ...others] as unknown as [typeof first & object]

const ownEventSchema = z
  .discriminatedUnion('type', ownEvents)
  .meta({ id: 'AgentEventOfOneRun' }) as unknown as z.ZodType<OwnEvent, OwnEvent>
type OwnEvent = OwnBody & { readonly seq: number; readonly at: number }

/**
 * What happened in a sub-agent is a part of what happened in the run that it works for, so that one log tells all, and what it used counts.
 * `call` is the call of a tool of this run that it works for, `runs` the way down to it: sub-agents have sub-agents.
 */
const subAgentSchema = z.strictObject({
  type: z.literal('sub_agent'),
  call: z.string(),
  runs: z.array(z.string()).min(1).max(BOUNDS.delegationDepth),
  event: ownEventSchema,
})

/** What happened, before it is written down. */
export type AgentEventBody = OwnBody | z.output<typeof subAgentSchema>

/** One thing that happened in a run. `seq` counts from 0 without a gap; `at` is in milliseconds since 1970. */
export type AgentEvent = AgentEventBody & { readonly seq: number; readonly at: number }

/** An event as it lies in a log. */
export const agentEventSchema = z
  .discriminatedUnion('type', [...ownEvents, subAgentSchema.extend(numbered)])
  .meta({ id: 'AgentEvent' }) as unknown as z.ZodType<AgentEvent, AgentEvent>
