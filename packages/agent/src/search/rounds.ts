import { BOUNDS, HearthError } from '@hearth/contract'
import type { Attempts } from './attempts.ts'
import { countVotes, isSettled } from './choose-winner.ts'
import type { Court } from './court.ts'
import type { PatchedTree } from './patched-tree.ts'
import type { Candidate, CandidateReport, SearchOptions } from './search-types.ts'
import type { Turns } from './turns.ts'

/** Runs that share the budget end by themselves, and give what they have. */
const GRACE_MS = 10_000
const LONGEST_MS = 2 ** 31 - 1

/** Tries and judges candidates, a wave at a time, and ends what runs when nothing can change any more. */
export class Rounds {
  readonly #options: SearchOptions
  readonly #attempts: Attempts
  readonly #court: Court
  readonly #turns: Turns
  readonly #reports: CandidateReport[] = []
  /** Who was the first with a change, as it is judged. */
  readonly #firstWith = new Map<string, number>()
  readonly #waiting: Candidate[]

  constructor(options: SearchOptions, attempts: Attempts, court: Court, turns: Turns) {
    this.#options = options
    this.#attempts = attempts
    this.#court = court
    this.#turns = turns
    this.#waiting = [...options.candidates]
  }

  async run(): Promise<CandidateReport[]> {
    const { wave, candidates, signal, budget } = this.#options
    const size = wave ?? candidates.length
    while (signal?.aborted !== true && (budget?.over ?? null) === null) {
      if (this.#waiting.length === 0) this.#waiting.push(...(await this.#further()))
      const batch = this.#waiting.splice(0, Math.max(1, size))
      if (batch.length === 0) break
      await this.#wave(batch)
      if (this.#reports.some(({ outcome }) => outcome === 'passed')) break
    }
    for (const candidate of this.#waiting) this.#reports.push(emptyReport(candidate, this.#reports.length))
    return this.#counted()
  }

  #counted(): CandidateReport[] {
    return countVotes(firstSpeaks(this.#reports), this.#court.base)
  }

  async #further(): Promise<readonly Candidate[]> {
    if (this.#options.more === undefined) return []
    const given = await this.#options.more(this.#counted())
    return given.slice(0, Math.max(0, BOUNDS.searchCandidates - this.#reports.length))
  }

  /** All of them at once, as far as there are turns. */
  async #wave(batch: readonly Candidate[]): Promise<void> {
    using settled = new Cut(this.#options.signal)
    const from = this.#reports.length
    this.#reports.push(...batch.map((candidate, index) => emptyReport(candidate, from + index)))
    await Promise.all(
      batch.map(async (candidate, offset) => {
        const index = from + offset
        const report = await this.#one(candidate, index, settled.signal)
        this.#reports[index] = report
        this.#tell({ type: 'judged', index, name: report.name, outcome: report.outcome })
        const open = this.#reports.slice(from).filter(({ outcome }) => outcome === 'not_tried').length
        if (isSettled(this.#reports, this.#court.base, open, this.#options.enough)) settled.cut()
      }),
    )
  }

  async #one(candidate: Candidate, index: number, signal: AbortSignal): Promise<CandidateReport> {
    const start = emptyReport(candidate, index)
    const from = performance.now()
    const { budget } = this.#options
    // What was made in time is judged, also when that takes longer.
    const time = budget === undefined ? null : AbortSignal.timeout(Math.min(budget.remainingMs + GRACE_MS, LONGEST_MS))
    const either = time === null ? signal : AbortSignal.any([signal, time])
    try {
      const tried = await this.#turns.take(async () => {
        either.throwIfAborted()
        this.#tell({ type: 'attempting', index, name: start.name })
        return await this.#attempts.try(candidate, either)
      })
      const report = { ...start, attemptMs: since(from) }
      if (!('change' in tried)) return { ...report, outcome: tried.outcome, detail: tried.detail }
      return await this.#judge(tried.change, { ...report, ...describeChange(tried.change) }, signal)
    } catch (error) {
      if (!either.aborted) throw error
      return { ...start, outcome: 'ended', attemptMs: since(from), detail: whyCut(either) }
    }
  }

  async #judge(change: PatchedTree, report: CandidateReport, signal: AbortSignal): Promise<CandidateReport> {
    if (change.files.length === 0) return { ...report, outcome: 'no_change' }
    const sameAs = this.#firstWith.get(change.tree)
    if (sameAs !== undefined) return { ...report, outcome: 'duplicate', sameAs }
    this.#firstWith.set(change.tree, report.index)
    this.#tell({ type: 'judging', index: report.index, name: report.name })
    const from = performance.now()
    try {
      const judged = await this.#court.judge(change, signal)
      return { ...report, ...judged, judgeMs: since(from) }
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      if (signal.aborted) return { ...report, outcome: 'ended', detail: whyCut(signal) }
      return { ...report, outcome: 'broken', detail, judgeMs: since(from) }
    }
  }

  #tell(progress: Parameters<NonNullable<SearchOptions['onProgress']>>[0]): void {
    this.#options.onProgress?.(progress)
  }
}

/** Which of equal changes was judged depends on who was faster; in the report it is always the first of them. */
function firstSpeaks(reports: readonly CandidateReport[]): CandidateReport[] {
  const firstOf = new Map<number, number>()
  for (const { index, sameAs } of reports) {
    if (sameAs !== null) firstOf.set(sameAs, Math.min(index, sameAs, firstOf.get(sameAs) ?? index))
  }
  return reports.map((report) => {
    const judged = report.sameAs === null ? report : (reports[report.sameAs] ?? report)
    const first = firstOf.get(judged.index)
    if (first === undefined) return report
    const { name, index, attemptMs, patch, files, testEdits, changedLines } = report
    const own = { name, index, attemptMs, patch, files, testEdits, changedLines }
    if (index === first) return { ...judged, ...own, sameAs: null }
    return { ...emptyReport({ name, patch }, index), ...own, outcome: 'duplicate', sameAs: first }
  })
}

/** Ends what runs: when somebody asks for it, or one of the signals does. */
class Cut implements Disposable {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal

  constructor(signal: AbortSignal | undefined) {
    const own = this.#controller.signal
    this.signal = signal === undefined ? own : AbortSignal.any([own, signal])
  }

  cut(): void {
    this.#controller.abort(new HearthError('aborted', 'the winner is settled'))
  }

  [Symbol.dispose](): void {
    this.cut()
  }
}

function whyCut({ reason }: AbortSignal): string {
  if (HearthError.isInstance(reason)) return reason.message
  return reason instanceof DOMException && reason.name === 'TimeoutError' ? 'the time is over' : 'it was stopped'
}

function since(from: number): number {
  return Math.round(performance.now() - from)
}

function emptyReport(candidate: Candidate, index: number): CandidateReport {
  return {
    index,
    name: candidate.name ?? `candidate ${index + 1}`,
    outcome: 'not_tried',
    detail: '',
    sameAs: null,
    agreement: 1,
    cluster: 1,
    verdict: {},
    behaviour: {},
    fixed: [],
    unfixed: [],
    broken: [],
    testEdits: [],
    files: [],
    changedLines: 0,
    patch: new Uint8Array(),
    attemptMs: 0,
    judgeMs: 0,
  }
}

function describeChange({
  files,
  patch,
  held,
}: PatchedTree): Pick<CandidateReport, 'files' | 'patch' | 'testEdits' | 'changedLines'> {
  return {
    files,
    patch,
    testEdits: held,
    changedLines: files.reduce((lines, { added, removed }) => lines + (added ?? 1) + (removed ?? 1), 0),
  }
}
