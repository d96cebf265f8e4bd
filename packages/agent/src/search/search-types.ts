import type { ChangedFile, Sandbox, Spent } from '@hearth/contract'
import type { SharedBudget } from '../budget/shared-budget.ts'

/** What an attempt may know and must obey. */
export interface AttemptContext {
  /** Aborted when its result is of no use any more. Its machine ends then too. */
  readonly signal: AbortSignal
  /** The state that changes are counted from, for a run of the agent: `startAgent({ stateDirectory, base })`. */
  readonly state: { readonly directory: string; readonly commit: string }
}

/** One thing to try: a patch as it is, or what a command or a function does to the working directory of a fork. */
export type Candidate = { readonly name?: string } & (
  | { readonly patch: string | Uint8Array }
  | { readonly command: string; readonly timeoutMs?: number }
  | {
      /** Anything, for example a run of the agent. The patch that it returns counts; without one, what it leaves in the working directory. */
      readonly attempt: (fork: Sandbox, context: AttemptContext) => Promise<Uint8Array | void>
      /** A machine to fork instead of the base. What is different there already is part of the change. */
      readonly origin?: Sandbox
    }
)

/** What a judge found: for each check whether it passed. */
export type Verdict = Readonly<Record<string, boolean>>

export interface JudgeContext {
  /** Which of several runs on the same state this is, from 0. */
  readonly run: number
  /** Another clean copy of what is judged: what one check does there, no other sees. */
  readonly apart: <Result>(work: (fork: Sandbox) => Promise<Result>) => Promise<Result>
}

/** Judges the working directory of a clean fork. */
export type Judge = (fork: Sandbox, workdir: string, context: JudgeContext) => Promise<Verdict>

/** Which of two changes that both pass is better. Asked twice, in both orders: an answer that depends on the order is none. */
export type Prefer = (first: CandidateReport, second: CandidateReport) => Promise<'first' | 'second' | 'neither'>

export interface SearchOptions {
  /** A machine that is ready: it is forked, and never changed. */
  readonly base: Sandbox
  readonly workdir: string
  readonly candidates: readonly Candidate[]
  readonly judge: Judge
  /** Checks that must pass in the end, and do not pass on the base. Default: all that fail on the base. */
  readonly targets?: readonly string[]
  /** Commands whose output tells changes apart that pass the same checks. They decide nothing but who agrees with whom. */
  readonly probes?: Readonly<Record<string, string>>
  /** Files besides the tests that are judged as they are on the base, as paths of the working directory; with `/` at the end all below. */
  readonly protect?: readonly string[]
  /** How many are tried at first; as many more follow as long as none passes. Default: all. */
  readonly wave?: number
  /** Asked when none has passed: what to try next, or nothing. */
  readonly more?: (reports: readonly CandidateReport[]) => Promise<readonly Candidate[]>
  /**
   * When what still runs is ended: when so many have passed, or (`settled`) when the others could not outvote the one in front any more.
   * Default: all are waited for.
   */
  readonly enough?: number | 'settled'
  /** How often what passes must pass again. Default 1. */
  readonly confirmations?: number
  /** Asked among those that pass and agree equally. */
  readonly prefer?: Prefer
  /** Nothing more is begun when it is used up, and what runs ends with its time. */
  readonly budget?: SharedBudget
  /** Attempts at the same time. Default 8. */
  readonly concurrency?: number
  /** Judged at the same time. Default: one for each processor of this computer, and at least 2. */
  readonly judges?: number
  /** The longest that judging one change once may take. Default 30 minutes. */
  readonly judgeMs?: number
  /** A fork whose process here has died ends after this. Default 60 seconds. */
  readonly leaseMs?: number
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: SearchProgress) => void
}

/** What happens to the base and to a candidate. */
export type SearchProgress =
  | { readonly type: 'judging_base' }
  | { readonly type: 'base'; readonly base: SearchReport['base'] }
  | { readonly type: 'attempting' | 'judging'; readonly index: number; readonly name: string }
  | { readonly type: 'judged'; readonly index: number; readonly name: string; readonly outcome: CandidateOutcome }
  /** A judge is asked which of two is better. */
  | { readonly type: 'comparing'; readonly first: string; readonly second: string }

export const CANDIDATE_OUTCOMES = [
  'passed',
  'failed',
  /** It passed, and then it did not. */
  'flaky',
  'duplicate',
  'no_change',
  'does_not_apply',
  'broken',
  /** Ended because its result was of no use any more. */
  'ended',
  'not_tried',
] as const
export type CandidateOutcome = (typeof CANDIDATE_OUTCOMES)[number]

export interface CandidateReport {
  readonly index: number
  readonly name: string
  readonly outcome: CandidateOutcome
  /** Why it does not apply or what broke. */
  readonly detail: string
  /** The first one with the same change, for a duplicate. */
  readonly sameAs: number | null
  /** How many candidates, with this one, came to this change, however it is laid out. */
  readonly agreement: number
  /** How many came to the same results. */
  readonly cluster: number
  readonly verdict: Verdict
  /** What the probes said, as a digest of each. */
  readonly behaviour: Readonly<Record<string, string>>
  /** Targets that pass now, those that still do not, and what passed before and does not now. */
  readonly fixed: readonly string[]
  readonly unfixed: readonly string[]
  readonly broken: readonly string[]
  /** Tests, and what they are run by, that it changes. They are judged as they are on the base. */
  readonly testEdits: readonly string[]
  readonly files: readonly ChangedFile[]
  readonly changedLines: number
  readonly patch: Uint8Array
  readonly attemptMs: number
  readonly judgeMs: number
}

export interface SearchReport {
  readonly base: {
    readonly passing: readonly string[]
    readonly failing: readonly string[]
    /** Different in two runs of the same machine: they say nothing, and are left out. */
    readonly flaky: readonly string[]
    readonly targets: readonly string[]
  }
  /** In the order in which they were given. */
  readonly candidates: readonly CandidateReport[]
  readonly winner: CandidateReport | null
  /** Why this one, or why none. */
  readonly reason: string
  /** It was stopped: what had been judged by then counts, and nothing else. */
  readonly stopped: boolean
  /** What was asked of a judge among those that pass. */
  readonly preferences: readonly Preference[]
  /** What the shared budget has been used for, where there is one. */
  readonly spent: Spent | null
  readonly wallTimeMs: number
}

export interface Preference {
  readonly first: number
  readonly second: number
  /** Null when the answer depends on the order, is neither, or failed. */
  readonly preferred: number | null
  readonly detail: string
}
