import { createHash } from 'node:crypto'
import { BOUNDS, HearthError, type Sandbox } from '@hearth/contract'
import { baseGate, compare, isRight, type Base } from './base-gate.ts'
import type { Forks } from '../machines/forks.ts'
import { writeFiles } from '../changes/written-files.ts'
import type { PatchedTree } from './patched-tree.ts'
import type { CandidateReport, SearchOptions, Verdict } from './search-types.ts'
import type { Turns } from './turns.ts'

const CONFIRMATIONS = 1

type Found = Pick<CandidateReport, 'verdict' | 'behaviour'>
type Judged = Found & Pick<CandidateReport, 'outcome' | 'detail' | 'fixed' | 'unfixed' | 'broken'>

/** Judges by execution, each time in clean forks of the base: an attempt cannot prepare the place where it is judged. */
export class Court {
  readonly #options: SearchOptions
  readonly #forks: Forks
  readonly #turns: Turns
  #base: Base = { passing: [], failing: [], flaky: [], targets: [] }
  #probes: readonly (readonly [name: string, command: string])[]

  constructor(options: SearchOptions, forks: Forks, turns: Turns) {
    this.#options = options
    this.#forks = forks
    this.#turns = turns
    this.#probes = Object.entries(options.probes ?? {})
  }

  get base(): Base {
    return this.#base
  }

  /** Runs everything twice on the base itself: what differs says nothing about a change. */
  async open(): Promise<Base> {
    const { signal, targets } = this.#options
    const [first, second] = await Promise.all([this.#run(null, 0, signal), this.#run(null, 1, signal)])
    this.#base = baseGate(first.verdict, second.verdict, targets)
    this.#probes = this.#probes.filter(([name]) => first.behaviour[name] === second.behaviour[name])
    return this.#base
  }

  /** What passes must pass again: a change that is right only at times is not right. */
  async judge(change: PatchedTree, signal: AbortSignal): Promise<Judged> {
    const first = await this.#run(change, 0, signal)
    const judged = this.#compare(first)
    const { confirmations = CONFIRMATIONS } = this.#options
    for (let run = 1; run <= confirmations && judged.outcome === 'passed'; run++) {
      const again = this.#compare(await this.#run(change, run, signal))
      if (again.outcome === 'passed') continue
      const detail = `passed, and then not: ${[...again.unfixed, ...again.broken].join(', ')}`
      return { ...again, outcome: 'flaky', detail }
    }
    return judged
  }

  #compare(found: Found): Judged {
    const compared = compare(this.#base, found.verdict)
    return { ...found, ...compared, outcome: isRight(this.#base, compared) ? 'passed' : 'failed', detail: '' }
  }

  async #run(change: PatchedTree | null, run: number, signal?: AbortSignal): Promise<Found> {
    const { judge, workdir, judgeMs = BOUNDS.searchJudgeMs } = this.#options
    return await this.#turns.take(async () => {
      const limit = AbortSignal.timeout(judgeMs)
      const either = signal === undefined ? limit : AbortSignal.any([signal, limit])
      const apart = async <Result>(work: (fork: Sandbox) => Promise<Result>): Promise<Result> =>
        await this.#forks.use(async (fork) => {
          if (change !== null) await writeFiles(change.written, fork, workdir)
          return await work(fork)
        }, either)
      try {
        const verdict = await apart(async (fork) => await judge(fork, workdir, { run, apart }))
        return { verdict, behaviour: await this.#behaviour(verdict, apart) }
      } catch (error) {
        if (!limit.aborted || signal?.aborted === true) throw error
        throw new HearthError('timeout', `judging took longer than ${judgeMs} ms`, { cause: error })
      }
    })
  }

  /** Asked of what could win alone. */
  async #behaviour(
    verdict: Verdict,
    apart: (work: (fork: Sandbox) => Promise<readonly [string, string]>) => Promise<readonly [string, string]>,
  ): Promise<Readonly<Record<string, string>>> {
    if (!isRight(this.#base, compare(this.#base, verdict))) return {}
    const { workdir } = this.#options
    const ask = async ([name, command]: readonly [string, string]): Promise<readonly [string, string]> =>
      await apart(async (fork) => {
        const { exitCode, stdout } = await fork.exec(command, { cwd: workdir })
        return [name, createHash('sha256').update(`${exitCode}\n${stdout}`).digest('hex').slice(0, 16)]
      })
    return Object.fromEntries(await Promise.all(this.#probes.map(ask)))
  }
}
