import type { BudgetLimits, StopReason } from '@hearth/contract'
import { exhausted, outputAllowance } from '../budget/budget.ts'
import type { Reservation, Use } from '../budget/shared-budget.ts'
import { NO_USAGE, type Model, type ModelReply, type ToolCall, type Usage } from '../models/model.ts'
import { ModelFailure } from '../models/model-failure.ts'
import { costOf, priceOf, type Price } from '../models/prices.ts'
import { withRetries } from '../models/retry.ts'
import { describeTool, type Tool } from '../tools/tool.ts'
import { compact } from './compaction.ts'
import { instructionsFor } from './instructions.ts'
import { usedUp, type Stop } from './next-move.ts'
import type { ResumeOptions } from './options.ts'
import type { Recorder } from './recorder.ts'

const OUTPUT_TOKENS = 16_384
/** A reply has this share of what the model takes at the most. */
const LARGEST_OUTPUT = 0.25
/** Calls in one reply; a model that makes more is told to take fewer. */
const MOST_CALLS = 32
/** Of the arguments of a call. */
const MOST_LEVELS = 64

export interface Asking {
  readonly model: Model
  readonly recorder: Recorder
  readonly tools: readonly Tool[]
  readonly options: ResumeOptions
  readonly limits: BudgetLimits
  readonly workdir: string
  readonly verify: string | null
  readonly signal: AbortSignal
}

/** Calls the model once, and again where that can help. Null when its reply was written down. Throws when the run was cut short. */
export async function askModel(asking: Asking): Promise<Stop | null> {
  const { recorder, signal } = asking
  const mostOutput = allowance(asking)
  const reserved = await reserve(asking, mostOutput)
  if (typeof reserved === 'string') return { reason: reserved, detail: usedUp(reserved) }
  using _reserved = reserved
  let lost = NOTHING
  await recorder.record({ type: 'model_called', turn: recorder.state.replies })
  try {
    const reply = await withRetries(
      () => callOnce(asking, mostOutput),
      asking.options.retries ?? {},
      signal,
      async ({ kind, message, usage }, delayMs) => {
        const failed = { type: 'model_failed' as const, kind, message, retryInMs: delayMs }
        if (usage === null) return await recorder.record(failed)
        const used = useOf(asking, usage)
        lost = plus(lost, used)
        await recorder.record({ ...failed, usage, dollars: used.dollars })
      },
      ({ usage }) => !isUsedUp(asking, usage === null ? NOTHING : useOf(asking, usage), lost),
    )
    await recordReply(asking, reply, reserved, lost)
    return null
  } catch (error) {
    reserved?.end(lost)
    if (!(error instanceof ModelFailure)) throw error
    if (error.kind === 'overflow') return await shorten(asking, error)
    // What comes next says which part of the budget it is.
    if (error.retryable && isUsedUp(asking, NOTHING, NOTHING)) return null
    return { reason: 'model_failed', detail: `${error.kind}: ${error.message}` }
  }
}

async function callOnce(asking: Asking, maxOutputTokens: number): Promise<ModelReply> {
  const { model, recorder, tools, options, workdir, verify, signal } = asking
  const { state } = recorder
  return await model.call({
    system: instructionsFor(workdir, verify, options.instructions ?? ''),
    messages: state.messages(),
    tools: tools.map(describeTool),
    maxOutputTokens,
    turn: state.replies,
    signal,
    ...(options.temperature === undefined ? {} : { temperature: options.temperature }),
  })
}

const NOTHING: Use = { tokens: 0, dollars: 0 }

/**
 * Whether what was lost with replies that broke off has used the budget up: then no further call is made for this one. `latest` is not written down
 * yet, and `lost` not yet taken from the budget that is shared.
 */
function isUsedUp({ recorder, limits, options }: Asking, latest: Use, lost: Use): boolean {
  const own = { limits, ...plus(recorder.state.spentAt(Date.now()), latest) }
  const shared = (options.shared?.chain ?? []).map((each) => ({
    limits: each.limits,
    ...plus(each.spent, plus(lost, latest)),
  }))
  // Calls that are made again are one step, which is taken already; the time ends the call by itself.
  const taken = { steps: 0, wallTimeMs: 0 }
  return [own, ...shared].some((each) => exhausted(each.limits, { ...each, ...taken }) !== null)
}

function plus(one: Use, other: Use): Use {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars }
}

function useOf(asking: Asking, usage: Usage): Use {
  return { tokens: tokensOf(usage), dollars: dollarsOf(asking, usage) }
}

function priceFor({ model, options }: Asking): Price | null {
  return priceOf(model.name, options.prices ?? {})
}

function dollarsOf(asking: Asking, usage: Usage): number {
  const price = priceFor(asking)
  return price === null ? 0 : costOf(usage, price)
}

function tokensOf({ inputTokens, outputTokens }: Usage): number {
  return inputTokens + outputTokens
}

function allowance(asking: Asking): number {
  const { model, recorder, options, limits } = asking
  const { shared, maxOutputTokens = OUTPUT_TOKENS } = options
  const price = priceFor(asking)
  // The conversation needs room too.
  const most = Math.min(maxOutputTokens, Math.floor(model.contextTokens * LARGEST_OUTPUT))
  const own = outputAllowance(limits, recorder.state.spentAt(Date.now()), price, most)
  return (shared?.chain ?? []).reduce((most, each) => outputAllowance(each.limits, each.promised, price, most), own)
}

type Reserved = Reservation | StopReason | null

/** What is kept of the shared budget for this call: the conversation as it was counted last, and the longest reply. */
async function reserve(asking: Asking, outputTokens: number): Promise<Reserved> {
  const { recorder, options, signal } = asking
  const { shared } = options
  if (shared === undefined) return null
  const inputTokens = recorder.state.contextTokens
  const dollars = dollarsOf(asking, { ...NO_USAGE, inputTokens, outputTokens })
  return await shared.reserve({ tokens: inputTokens + outputTokens, dollars }, signal)
}

/** The reply counts from here on: its calls are run by whoever has the log. */
async function recordReply(asking: Asking, reply: ModelReply, reserved: Reservation | null, lost: Use): Promise<void> {
  const used = useOf(asking, reply.usage)
  // It has been used, whether it can be written down or not.
  reserved?.end(plus(lost, used))
  const calls = distinct(reply.calls.slice(0, MOST_CALLS).map(shallow))
  const untouched = calls === reply.calls || calls.every((call, index) => call === reply.calls[index])
  const whole = untouched && calls.length === reply.calls.length
  await asking.recorder.record({
    type: 'model_replied',
    text: reply.text,
    calls: [...calls],
    finish: reply.finish,
    usage: reply.usage,
    dollars: used.dollars,
    // What the provider would get back must say the same as what was written down.
    ...(whole && reply.replay !== undefined ? { replay: reply.replay } : {}),
  })
}

/** SAFETY: whoever goes through the input one level after the other, as all do that write it down, would come to the end of the stack. */
function shallow(call: ToolCall): ToolCall {
  if (!isDeeper(call.input, MOST_LEVELS)) return call
  return { id: call.id, name: call.name, input: {}, malformed: `the arguments have more than ${MOST_LEVELS} levels` }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((each) => isDeeper(each, levels - 1))
}

/** SAFETY: answers are matched to calls by their identifiers, which the model chooses. */
function distinct(calls: readonly ToolCall[]): readonly ToolCall[] {
  const seen = new Set<string>()
  return calls.map((call, index) => {
    const usable = call.id !== '' && !seen.has(call.id)
    const id = usable ? call.id : `${call.id.slice(0, 40)}-again-${index}`
    seen.add(id)
    return usable ? call : { ...call, id }
  })
}

/** The provider found the conversation too long. Shortening it can help once; a model that finds the short one too long has no room at all. */
async function shorten({ model, recorder }: Asking, failure: ModelFailure): Promise<Stop | null> {
  const { state } = recorder
  const shortened = state.compactedSinceReply ? null : compact(state, model.contextTokens)
  if (shortened === null) return { reason: 'context_overflow', detail: failure.message }
  await recorder.record({ type: 'compacted', ...shortened })
  return null
}
