/** The coding agent: a loop over a model and a sandbox. */
export { resumeAgent, startAgent } from './loop/agent.ts'
export type { AgentRun } from './loop/agent-run.ts'
export { workOn, type Kept, type KeptOptions } from './loop/kept-run.ts'
export { forkRun, type ForkedRun, type ForkRunOptions } from './loop/fork-run.ts'
export type {
  AgentOptions,
  AgentResult,
  CheckedCall,
  Diff,
  HookDecision,
  Hooks,
  ResumeOptions,
} from './loop/options.ts'
export type { DelegateOptions, SandboxMaker } from './delegate/delegate-options.ts'
export { budgetOf, requirePrice } from './budget/budget.ts'
export { resultOf } from './loop/result.ts'
export { SharedBudget, type Reservation, type Use } from './budget/shared-budget.ts'
export type { Changes } from './changes/changes.ts'
export { MemoryEventLog, type EventLog } from './events/event-log.ts'
export { KeptEventLog } from './events/kept-event-log.ts'
export { FileEventLog } from './events/file-event-log.ts'
export { openModel, type OpenModelOptions } from './models/open-model.ts'
export { ScriptedModel, type Script } from './models/scripted-model.ts'
export { ModelFailure } from './models/model-failure.ts'
export type { Message, Model, ModelReply, ModelRequest, ToolCall, ToolDescription, Usage } from './models/model.ts'
export { PRICES, type Price, type Prices } from './models/prices.ts'
export type { RetryOptions } from './models/retry.ts'
export { defineTool, type Tool, type ToolContext, type ToolResult } from './tools/tool.ts'
export { DEFAULT_TOOLS } from './tools/toolbox.ts'
export { applyPatch } from './search/apply-patch.ts'
export { search } from './search/search.ts'
export { bestOf, type AttemptFacts, type BestOfOptions, type BestOfReport } from './search/best-of.ts'
export { provesFix } from './search/base-gate.ts'
export { checks, type CheckOptions } from './search/checks.ts'
export { pathsOfCommand } from './search/guarded-paths.ts'
export { Leases } from './machines/leases.ts'
export { modelPreference, type ModelPreferenceOptions } from './search/model-preference.ts'
export type { TreeOptions } from './search/tree.ts'
export { variations, type Variation } from './search/variations.ts'
export type {
  AttemptContext,
  Candidate,
  CandidateOutcome,
  CandidateReport,
  Judge,
  JudgeContext,
  Prefer,
  Preference,
  SearchOptions,
  SearchProgress,
  SearchReport,
  Verdict,
} from './search/search-types.ts'
export { STOP_REASONS } from '@hearth/contract'
export type {
  AgentEvent,
  AgentEventBody,
  BudgetLimits,
  ChangedFile,
  PermissionRule,
  StopReason,
} from '@hearth/contract'
