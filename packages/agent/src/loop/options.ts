import type {
  AgentEvent,
  BudgetLimits,
  Grant,
  PermissionRule,
  RunId,
  RunMessage,
  Sandbox,
  StopReason,
} from '@hearth/contract'
import type { SharedBudget } from '../budget/shared-budget.ts'
import type { ChangeLimits } from '../changes/change-tracker.ts'
import type { Changes } from '../changes/changes.ts'
import type { DelegateOptions } from '../delegate/delegate-options.ts'
import type { EventLog } from '../events/event-log.ts'
import type { Model } from '../models/model.ts'
import type { Prices } from '../models/prices.ts'
import type { RetryOptions } from '../models/retry.ts'
import type { Tool, ToolResult } from '../tools/tool.ts'

/** A call that fits the schema of its tool. */
export interface CheckedCall {
  readonly name: string
  readonly input: unknown
}

/** What a hook before a tool may decide: another input, or that it is not run at all. */
export type HookDecision = { readonly deny: string } | { readonly input: unknown } | undefined

export interface Hooks {
  /** One that throws denies the call. */
  beforeTool?(call: CheckedCall): Promise<HookDecision> | HookDecision
  /** Returns what the model is told instead, or nothing. */
  afterTool?(call: CheckedCall, result: ToolResult): Promise<string | undefined> | string | undefined
}

/** What a run needs from its process. But for prices and permissions none of it is written down: it is given again when the run is taken up by another one. */
export interface ResumeOptions {
  readonly sandbox: Sandbox
  readonly model: Model
  /** Where it is written down. Default: in memory. */
  readonly log?: EventLog
  /** Where on the host the state of the working directory is kept. Default: a temporary directory, for a run that is not taken up again. */
  readonly stateDirectory?: string
  readonly tools?: readonly Tool[]
  /** Default for a run that is taken up: those that it was begun with. */
  readonly permissions?: readonly PermissionRule[]
  /** Answers the rules that say `ask`. Without it they deny. */
  readonly approve?: (call: CheckedCall) => Promise<boolean>
  readonly hooks?: Hooks
  readonly prices?: Prices
  readonly retries?: RetryOptions
  /** What it may use together with others, next to its own budget. */
  readonly shared?: SharedBudget
  /** Lets the model give parts of the work to sub-agents, within the grant of the run. */
  readonly delegate?: DelegateOptions
  /** How much the replies may differ from one call to the next. Default: the provider's. */
  readonly temperature?: number
  /** More to tell the model before the task. */
  readonly instructions?: string
  /** Tokens of one reply at the most. Default 16,384. */
  readonly maxOutputTokens?: number
  readonly changeLimits?: ChangeLimits
  /** What people have told it while nobody worked on it: it counts before anything else is done. */
  readonly told?: readonly RunMessage[]
  /** Told of each event after it was written down. */
  readonly onEvent?: (event: AgentEvent) => void
}

export interface AgentOptions extends ResumeOptions {
  /** Its identifier, where it has one already. */
  readonly run?: RunId
  readonly task: string
  /** In the sandbox. Default `/workspace`. */
  readonly workdir?: string
  /** A command that must succeed before a submission counts. */
  readonly verify?: string
  readonly budget?: Partial<BudgetLimits>
  /**
   * What it may do, and so what its sub-agents may at the most. What is left out: no names, no secrets, the rung, the template and the limits of
   * its sandbox, its own tools and budget, every path; with `delegate` one level of four sub-agents at a time, else none.
   */
  readonly grant?: Partial<Grant>
  /** What changes are counted from: a commit of `stateDirectory` that is known to be the working directory. Default: it is read. */
  readonly base?: string
}

export type Diff =
  | ({ readonly available: true } & Changes)
  /** For example because the sandbox has ended. */
  | { readonly available: false; readonly reason: string }

export interface AgentResult {
  readonly reason: StopReason
  readonly detail: string
  /** What the model said about its change, if it submitted one. */
  readonly summary: string | null
  /** Whether the check passed; null without a check or a submission. */
  readonly verified: boolean | null
  readonly diff: Diff
  readonly steps: number
  readonly tokens: number
  readonly dollars: number
  readonly wallTimeMs: number
}
