import { BOUNDS, HearthError, newId, type Grant, type RunId } from '@hearth/contract'
import { SharedBudget } from '../budget/shared-budget.ts'
import type { ChangeTracker } from '../changes/change-tracker.ts'
import type { AgentResult, ResumeOptions } from '../loop/options.ts'
import type { Recorder } from '../loop/recorder.ts'
import type { RunState } from '../loop/run-state.ts'
import { Leases } from '../machines/leases.ts'
import type { Tool, ToolContext, ToolResult } from '../tools/tool.ts'
import { bringBack, type Outcome } from './bring-back.ts'
import type { DelegateOptions } from './delegate-options.ts'
import { delegateTool, type WantedSubAgent } from './delegate-tool.ts'
import { LiveRuns, type LiveRun } from './live-runs.ts'
import { makeMachine } from './machines.ts'
import { Places } from './places.ts'
import { budgetLeft, plan } from './plan.ts'
import { describeReports, isWhole, type Report } from './report.ts'
import { subAgentOptions, type SubAgentOptions } from './sub-agent-options.ts'

/** A run that gives work on. */
interface Holder {
  readonly options: ResumeOptions
  readonly started: NonNullable<RunState['started']>
  readonly recorder: Recorder
  readonly tracker: ChangeTracker
  readonly begin: (options: SubAgentOptions) => Promise<LiveRun>
}

/** What a sub-agent came to; what it changed is still to be brought back. */
type Worked =
  | Exclude<Report, { result: unknown }>
  | { readonly run: RunId; readonly result: AgentResult; readonly grant: Grant }

const NO_PLACE =
  'there is no place for another sub-agent: as many work as may at one time, or as many as may in all have worked'

/** Gives parts of the work of a run to sub-agents, within its grant: the tool `delegate`, and what the run tells those that work. */
export class Delegation {
  /** Of the run and of all below it. */
  readonly shared: SharedBudget
  readonly tool: Tool
  readonly #holder: Holder
  readonly #grant: Grant
  readonly #options: DelegateOptions
  readonly #places: Places
  readonly #live = new LiveRuns()
  #calls = 0

  private constructor(holder: Holder, grant: Grant, options: DelegateOptions) {
    const { started, recorder } = holder
    this.#holder = holder
    this.#grant = grant
    this.#options = options
    this.shared = new SharedBudget(started.budget, recorder.state.spentAt(Date.now()), holder.options.shared ?? null)
    const inAll = BOUNDS.subAgents - recorder.state.subAgents.count
    this.#places = new Places(grant.children, inAll, options.places ?? null)
    this.tool = delegateTool(grant, async (wanted, context) => await this.#run(wanted, context))
  }

  /** Null for a run that cannot give anything on. */
  static of(holder: Holder): Delegation | null {
    const { grant } = holder.started
    const { delegate } = holder.options
    return delegate === undefined || grant === undefined || grant.depth < 1
      ? null
      : new Delegation(holder, grant, delegate)
  }

  /** A call is under way. */
  get busy(): boolean {
    return this.#calls > 0
  }

  async pause(): Promise<void> {
    await this.#live.pause()
  }

  resume(): void {
    this.#live.resume()
  }

  async #run(wanted: readonly WantedSubAgent[], context: ToolContext): Promise<ToolResult> {
    using leases = new Leases(this.#options.leaseMs ?? BOUNDS.subAgentLeaseMs)
    this.#calls++
    try {
      const reports: Report[] = []
      // In the order in which they were asked for, whoever was first.
      for (const worked of await this.#workAll(wanted, context, leases)) {
        reports.push(await this.#report(worked, context, leases))
      }
      const text = await describeReports(reports, context)
      return { text, failed: !reports.every(isWhole), interrupted: context.signal.aborted }
    } finally {
      this.#calls--
    }
  }

  async #workAll(wanted: readonly WantedSubAgent[], context: ToolContext, leases: Leases): Promise<Worked[]> {
    const done: Worked[] = []
    const running = new Set<Promise<void>>()
    for (const [index, each] of wanted.entries()) {
      let place = this.#places.take()
      while (place === null && running.size > 0) {
        await Promise.race(running)
        place = this.#places.take()
      }
      if (place === null) {
        done[index] = { refused: NO_PLACE }
        continue
      }
      const work = this.#work(each, wanted.length + 1, context, leases).then((worked) => {
        done[index] = worked
        place[Symbol.dispose]()
        running.delete(work)
      })
      running.add(work)
    }
    await Promise.all(running)
    return done
  }

  /** Throws nothing: what fails here is told to the model, and a log that fails is found out by the answer itself. */
  async #work(wanted: WantedSubAgent, shares: number, context: ToolContext, leases: Leases): Promise<Worked> {
    const { started, recorder } = this.#holder
    if (context.signal.aborted) return { refused: 'the run was ended' }
    const { over } = this.shared
    if (over !== null) return { refused: `the budget is used up: ${over.replace('_', ' ')}` }
    const budget = budgetLeft(started.budget, recorder.state.spentAt(Date.now()))
    const planned = plan(wanted, { ...this.#grant, budget }, started.workdir, shares)
    if ('refused' in planned) return planned
    const run = newId('run') as RunId
    try {
      return { run, grant: planned.grant, result: await this.#runOne(run, wanted, planned.grant, context, leases) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const isRefusal = HearthError.isInstance(error) && error.code === 'grant_exceeded'
      return isRefusal ? { refused: message } : { run, failed: message }
    }
  }

  async #runOne(
    run: RunId,
    wanted: WantedSubAgent,
    grant: Grant,
    context: ToolContext,
    leases: Leases,
  ): Promise<AgentResult> {
    const { options, started, recorder, tracker, begin } = this.#holder
    const { machine = 'fork' } = wanted
    const { sandbox, until } = await makeMachine(
      {
        kind: machine,
        grant,
        holder: this.#grant,
        origin: options.sandbox,
        workdir: started.workdir,
        metadata: { run: recorder.state.run, subAgent: run },
        signal: context.signal,
      },
      this.#options.hearth,
      leases,
    )
    try {
      const given = subAgentOptions({
        options,
        delegate: { ...this.#options, places: this.#places },
        shared: this.shared,
        run,
        wanted,
        grant,
        sandbox,
        until,
        workdir: started.workdir,
        log: { recorder, call: context.call },
        state: { directory: tracker.directory, commit: await tracker.take(sandbox, started.workdir) },
      })
      return await this.#live.live(async () => await begin(given), context.signal)
    } finally {
      leases.drop(sandbox)
      // One that cannot be ended now is ended by its lease.
      await sandbox.kill().catch(() => undefined)
    }
  }

  async #report(worked: Worked, context: ToolContext, leases: Leases): Promise<Report> {
    if (!('result' in worked)) return worked
    const { run, result, grant } = worked
    const { recorder, tracker } = this.#holder
    const { sandbox, workdir, signal } = context
    const home = { sandbox, workdir, tracker, leases, signal }
    const brought: Outcome | null = await bringBack(result, grant.paths.write, home)
    if (brought !== null) await recorder.record({ type: 'brought_back', run, ...brought, files: [...brought.files] })
    return { run, result, brought }
  }
}
