import type { AgentEvent, BudgetLimits, Sandbox } from '@hearth/contract'
import { BOUNDS, HearthError } from '@hearth/contract'
import type { SharedBudget } from '../budget/shared-budget.ts'
import { MemoryEventLog, type EventLog } from '../events/event-log.ts'
import { KeptEventLog } from '../events/kept-event-log.ts'
import { resumeAgent, startAgent } from '../loop/agent.ts'
import type { AgentRun } from '../loop/agent-run.ts'
import { continueRun } from '../loop/fork-run.ts'
import { workOn, type Kept, type KeptOptions } from '../loop/kept-run.ts'
import type { AgentResult, ResumeOptions } from '../loop/options.ts'
import { failureSummary } from './failure-summary.ts'
import { search } from './search.ts'
import type { AttemptContext, Candidate, CandidateReport, SearchOptions, SearchReport } from './search-types.ts'
import { Tree, type TreeOptions } from './tree.ts'
import type { Variation } from './variations.ts'

const FIRST_WAVE = 2

export interface BestOfOptions
  extends
    Omit<SearchOptions, 'candidates' | 'more' | 'budget'>,
    Pick<ResumeOptions, 'tools' | 'permissions' | 'approve' | 'hooks' | 'prices'> {
  readonly task: string
  /** How the attempts differ, in the order in which they are made. */
  readonly attempts: readonly Variation[]
  /** A command that must succeed before an attempt may submit. */
  readonly verify?: string
  /** Of each attempt. */
  readonly budget?: Partial<BudgetLimits>
  /** Of all together. */
  readonly shared?: SharedBudget
  /** A run that has come to the base: each attempt goes on with its conversation. Default: each begins one. */
  readonly from?: { readonly log: EventLog; readonly stateDirectory: string }
  /** When all have failed, go on from where the best of them began to fail. Default: no. */
  readonly tree?: TreeOptions
  /** Whoever keeps the run of an attempt, for others to watch, steer and stop. Default: nobody, and it is gone with this process. */
  readonly keep?: (attempt: AttemptFacts) => Promise<Kept>
  readonly onEvent?: (attempt: number, event: AgentEvent) => void
}

/** What whoever keeps the run of an attempt is told of it. */
export interface AttemptFacts {
  readonly name: string
  readonly model: string
  /** The run whose conversation it goes on with. */
  readonly parent: string | null
}

export interface BestOfReport extends SearchReport {
  /** How the run of each candidate ended, by its index; null for one that was not begun or was ended. */
  readonly runs: readonly (AgentResult | null)[]
}

/** Lets several attempts of the agent work in forks of one warm machine, two at first, and keeps the change that is judged best. */
export async function bestOf(options: BestOfOptions): Promise<BestOfReport> {
  const { attempts, shared, wave = FIRST_WAVE, enough = 'settled', leaseMs = BOUNDS.searchLeaseMs } = options
  await using tree = new Tree(options.tree, leaseMs)
  const agents = new Agents(options, tree)
  const { budget: _each, ...given } = options
  const report = await search({
    ...given,
    wave,
    enough,
    candidates: attempts.map((variation, index) => agents.candidate(index, variation)),
    more: async (reports) => await agents.branches(reports),
    ...(shared === undefined ? {} : { budget: shared }),
  })
  return { ...report, runs: report.candidates.map(({ index }) => agents.runs[index] ?? null) }
}

/** Attempts of the agent as candidates of a search. */
class Agents {
  readonly runs: (AgentResult | null)[] = []
  readonly #options: BestOfOptions
  readonly #tree: Tree

  constructor(options: BestOfOptions, tree: Tree) {
    this.#options = options
    this.#tree = tree
  }

  candidate(index: number, variation: Variation): Candidate {
    const { from } = this.#options
    const name = variation.name ?? `attempt ${index + 1}`
    const order = { index, name, variation }
    if (from === undefined) return { name, attempt: async (...given) => await this.#fresh(order, ...given) }
    const origin = { log: from.log, stateDirectory: from.stateDirectory, memory: false }
    return { name, attempt: async (...given) => await this.#goOn({ ...order, origin }, ...given) }
  }

  /** When all have failed: others that go on from where the best of them began to, and know of the failures. */
  async branches(reports: readonly CandidateReport[]): Promise<Candidate[]> {
    const nodes = await this.#tree.next(reports)
    return nodes.map(({ node, child }, offset) => {
      const index = reports.length + offset
      const { attempts } = this.#options
      const variation = attempts[index % attempts.length] as Variation
      const { log, memory, sandbox, parent } = node.run
      const origin = { log, memory, message: () => failureSummary(reports), parent: parent.run }
      const name = `${node.name}, branch ${child + 1}`
      return {
        name,
        origin: sandbox,
        attempt: async (...given) => await this.#goOn({ index, name, variation, origin }, ...given),
      }
    })
  }

  async #fresh(order: Order, fork: Sandbox, context: AttemptContext): Promise<Uint8Array> {
    const { task, workdir, verify, budget } = this.#options
    const { directory, commit } = context.state
    const place = { fork, context, stateDirectory: directory, parent: null }
    return await this.#work(order, place, async (given) => {
      const limits = { ...(verify === undefined ? {} : { verify }), ...(budget === undefined ? {} : { budget }) }
      const where = { sandbox: fork, stateDirectory: directory, base: commit, task, workdir }
      return await startAgent({ ...this.#common(order.variation), ...given, ...where, ...limits })
    })
  }

  async #goOn(
    { origin, ...order }: Order & { readonly origin: Origin },
    fork: Sandbox,
    context: AttemptContext,
  ): Promise<Uint8Array | void> {
    const { memory, parent = null, stateDirectory = context.state.directory } = origin
    const place = { fork, context, stateDirectory, parent }
    const patch = await this.#work(order, place, async ({ log, run, ...given }) => {
      await continueRun({ ...origin, run, logOf: () => log }, { sandbox: fork, memory })
      return await resumeAgent({ ...this.#common(order.variation), ...given, sandbox: fork, log, stateDirectory })
    })
    // Counted from where that run began, which is not the base.
    return origin.stateDirectory === undefined ? patch : undefined
  }

  async #work(order: Order, place: WorkPlace, begin: Begin): Promise<Uint8Array> {
    const { signal } = place.context
    const { index, name, variation } = order
    const kept = await this.#options.keep?.({ name, model: variation.model.name, parent: place.parent })
    const log = kept === undefined ? new MemoryEventLog() : new KeptEventLog(kept.keeper, kept.lease)
    const watched: Begin = async (given) => await this.#watched(index, signal, begin, given)
    const result = kept === undefined ? await (await watched({ log })).result : await workOn(kept, watched)
    signal.throwIfAborted()
    this.runs[index] = result
    await this.#tree.keepEnd(index, { sandbox: place.fork, log, directory: place.stateDirectory })
    if (result.diff.available) return result.diff.patch
    throw new HearthError('file_failed', `${result.reason}: ${result.detail}; ${result.diff.reason}`)
  }

  /** The run of an attempt, which is stopped when its result is of no use any more. */
  async #watched(index: number, signal: AbortSignal, begin: Begin, given: Given): Promise<AgentRun> {
    const { onEvent, verify } = this.#options
    const run = await begin({
      ...given,
      onEvent: (event) => {
        onEvent?.(index, event)
        this.#tree.watch(index, event, verify, async (forked) => await run.fork(forked))
      },
    })
    const stop = (): void => run.stop('its result is of no use any more')
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    return run
  }

  #common({ model, temperature, hint }: Variation): Omit<ResumeOptions, 'sandbox'> {
    const { tools, permissions, approve, hooks, prices, shared } = this.#options
    const given = { tools, permissions, approve, hooks, prices, shared, temperature, instructions: hint }
    const entries = Object.entries(given).filter(([, value]) => value !== undefined)
    return { model, ...Object.fromEntries(entries) }
  }
}

/** Which attempt it is, and how it differs from the others. */
interface Order {
  readonly index: number
  readonly name: string
  readonly variation: Variation
}

interface Origin {
  readonly log: EventLog
  readonly memory: boolean
  readonly message?: () => string
  readonly stateDirectory?: string
  readonly parent?: string
}

interface WorkPlace {
  readonly fork: Sandbox
  readonly context: AttemptContext
  readonly stateDirectory: string
  readonly parent: string | null
}

type Given = Pick<KeptOptions, 'log'> & Partial<KeptOptions> & Pick<ResumeOptions, 'onEvent'>
type Begin = (given: Given) => Promise<AgentRun>
