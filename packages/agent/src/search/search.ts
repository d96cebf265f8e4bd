import { HearthError, type Sandbox } from '@hearth/contract'
import { ChangeTracker } from '../changes/change-tracker.ts'
import { baseGate, chooseWinner, compare, type Base } from './base-gate.ts'
import { inParallel } from './in-parallel.ts'
import { patchedTree, writeTree, type PatchedTree } from './patched-tree.ts'
import type { Candidate, CandidateReport, SearchOptions, SearchReport } from './search-types.ts'

const CONCURRENCY = 4
const MOST_CANDIDATES = 256
const ATTEMPT_MS = 10 * 60_000

/** What a candidate came to: a change, or why there is none. */
type Tried =
  | { readonly change: PatchedTree }
  | { readonly outcome: 'does_not_apply' | 'broken'; readonly detail: string }

/**
 * Tries several changes and keeps the best. Each is made in a fork of the base, and judged by execution in another, clean one: an attempt
 * cannot prepare the place where it is judged. "No winner" is an honest answer.
 */
export async function search(options: SearchOptions): Promise<SearchReport> {
  const { base, workdir, candidates, targets, concurrency = CONCURRENCY } = options
  if (candidates.length === 0 || candidates.length > MOST_CANDIDATES) {
    throw new HearthError('invalid_request', `there must be 1 to ${MOST_CANDIDATES} candidates`)
  }
  await using tracker = await ChangeTracker.open(null)
  const commit = await tracker.begin(base, workdir)
  const [first = {}, second = {}] = await inParallel([0, 1], concurrency, async () => {
    return await inFork(base, async (fork) => await options.judge(fork, workdir))
  })
  const gate = baseGate(first, second, targets)
  const place = { tracker, commit }
  const tried = await inParallel(candidates, concurrency, async (candidate) => await attempt(options, candidate, place))
  const firstOf = new Map<string, number>()
  for (const [index, one] of tried.entries()) {
    if ('change' in one && !firstOf.has(one.change.tree)) firstOf.set(one.change.tree, index)
  }
  const reports = await inParallel(tried, concurrency, async (one, index) => {
    const start = emptyReport(candidates[index], index)
    if (!('change' in one)) return { ...start, outcome: one.outcome, detail: one.detail }
    const agreement = tried.filter((other) => 'change' in other && other.change.tree === one.change.tree).length
    const report = { ...start, ...describeChange(one.change), agreement }
    if (one.change.files.length === 0) return { ...report, outcome: 'no_change' as const }
    const sameAs = firstOf.get(one.change.tree) ?? index
    if (sameAs !== index) return { ...report, outcome: 'duplicate' as const, sameAs }
    return await judgeChange(options, one.change, report, gate, place)
  })
  return { base: gate, candidates: reports, ...chooseWinner(reports, gate) }
}

interface Place {
  readonly tracker: ChangeTracker
  readonly commit: string
}

async function attempt({ base, workdir }: SearchOptions, candidate: Candidate, place: Place): Promise<Tried> {
  const { tracker, commit } = place
  try {
    const patch = 'patch' in candidate ? Buffer.from(candidate.patch) : await makePatch(base, workdir, candidate, place)
    return { change: await patchedTree(tracker.directory, commit, patch) }
  } catch (error) {
    const outcome = 'patch' in candidate ? 'does_not_apply' : 'broken'
    return { outcome, detail: error instanceof Error ? error.message : String(error) }
  }
}

async function makePatch(
  base: Sandbox,
  workdir: string,
  candidate: Exclude<Candidate, { patch: unknown }>,
  { tracker, commit }: Place,
): Promise<Uint8Array> {
  return await inFork(base, async (fork) => {
    if ('attempt' in candidate) await candidate.attempt(fork)
    else {
      const timeoutMs = candidate.timeoutMs ?? Math.min(ATTEMPT_MS, fork.info.limits.wallTimeMs)
      const { exitCode, timedOut, output } = await fork.exec(candidate.command, { cwd: workdir, timeoutMs })
      if (timedOut) throw new HearthError('timeout', `the command took longer than ${timeoutMs} ms`)
      if (exitCode !== 0) throw new HearthError('invalid_request', `the command failed: ${output.slice(-2000)}`)
    }
    return (await tracker.changes(commit, fork, workdir)).patch
  })
}

async function judgeChange(
  { base, workdir, judge }: SearchOptions,
  change: PatchedTree,
  report: CandidateReport,
  gate: Base,
  { tracker, commit }: Place,
): Promise<CandidateReport> {
  try {
    const verdict = await inFork(base, async (fork) => {
      await writeTree(tracker.directory, commit, change.tree, { sandbox: fork, workdir })
      return await judge(fork, workdir)
    })
    const compared = compare(gate, verdict)
    // With nothing that can be told from the base, nothing can be said to be right.
    const decided = gate.targets.length > 0 || gate.flaky.length === 0
    const passed = decided && compared.unfixed.length === 0 && compared.broken.length === 0
    return { ...report, ...compared, verdict, outcome: passed ? 'passed' : 'failed' }
  } catch (error) {
    return { ...report, outcome: 'broken', detail: error instanceof Error ? error.message : String(error) }
  }
}

/** A copy of the disk, which is gone afterwards whatever happens. */
async function inFork<Result>(base: Sandbox, work: (fork: Sandbox) => Promise<Result>): Promise<Result> {
  const { children } = await base.fork(1)
  const [fork] = children
  if (fork === undefined) throw new HearthError('internal', 'a fork has no child')
  try {
    return await work(fork)
  } finally {
    await fork.kill()
  }
}

function emptyReport(candidate: Candidate | undefined, index: number): CandidateReport {
  return {
    index,
    name: candidate?.name ?? `candidate ${index + 1}`,
    outcome: 'failed',
    detail: '',
    sameAs: null,
    agreement: 1,
    verdict: {},
    fixed: [],
    unfixed: [],
    broken: [],
    testEdits: [],
    files: [],
    changedLines: 0,
    patch: new Uint8Array(),
  }
}

function describeChange({
  files,
  patch,
}: PatchedTree): Pick<CandidateReport, 'files' | 'patch' | 'testEdits' | 'changedLines'> {
  return {
    files,
    patch,
    testEdits: files.filter(({ test }) => test).map(({ path }) => path),
    changedLines: files.reduce((lines, { added, removed }) => lines + (added ?? 1) + (removed ?? 1), 0),
  }
}
