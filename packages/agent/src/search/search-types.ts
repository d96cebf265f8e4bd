import type { ChangedFile, Sandbox } from '@hearth/contract'

/** One thing to try: a patch as it is, or what a command or a function does to the working directory of a fork. */
export type Candidate = { readonly name?: string } & (
  | { readonly patch: string | Uint8Array }
  | { readonly command: string; readonly timeoutMs?: number }
  /** Anything, for example a run of the agent. What it leaves in the working directory counts. */
  | { readonly attempt: (fork: Sandbox) => Promise<void> }
)

/** What a judge found: for each check whether it passed. */
export type Verdict = Readonly<Record<string, boolean>>

/** Judges the working directory of a clean fork. */
export type Judge = (fork: Sandbox, workdir: string) => Promise<Verdict>

export interface SearchOptions {
  /** A machine that is ready: it is forked, and never changed. */
  readonly base: Sandbox
  readonly workdir: string
  readonly candidates: readonly Candidate[]
  readonly judge: Judge
  /** Checks that must pass in the end. Default: all that fail on the base. */
  readonly targets?: readonly string[]
  /** Forks at the same time. Default 4. */
  readonly concurrency?: number
}

export const CANDIDATE_OUTCOMES = ['passed', 'failed', 'duplicate', 'no_change', 'does_not_apply', 'broken'] as const

export interface CandidateReport {
  readonly index: number
  readonly name: string
  readonly outcome: (typeof CANDIDATE_OUTCOMES)[number]
  /** Why it does not apply or what broke. */
  readonly detail: string
  /** The first one with the same change, for a duplicate. */
  readonly sameAs: number | null
  /** How many candidates, with this one, came to this change. */
  readonly agreement: number
  readonly verdict: Verdict
  /** Targets that pass now, those that still do not, and what passed before and does not now. */
  readonly fixed: readonly string[]
  readonly unfixed: readonly string[]
  readonly broken: readonly string[]
  /** Tests that it changes. They are not part of what is judged. */
  readonly testEdits: readonly string[]
  readonly files: readonly ChangedFile[]
  readonly changedLines: number
  readonly patch: Uint8Array
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
}
