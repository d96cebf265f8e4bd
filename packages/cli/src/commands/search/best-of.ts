import {
  bestOf,
  modelPreference,
  openModel,
  provesFix,
  requirePrice,
  SharedBudget,
  variations,
  type AgentEvent,
  type BestOfReport,
  type CandidateReport,
  type SearchProgress,
} from '@hearth/agent'
import type { BudgetLimits } from '@hearth/contract'
import { bringingBack } from '../../agent/carried-files.ts'
import { checkOut, toRepository, worksInWorkspace } from '../../agent/checkout.ts'
import { chooseModel } from '../../agent/choose-model.ts'
import { giveChange } from '../../agent/deliver.ts'
import type { Destination, Outcome } from '../../agent/destination.ts'
import { findBranch, toLocalBranch } from '../../agent/local-branch.ts'
import { interruptible } from '../../interruptible.ts'
import { withoutUndefined } from '../../options/sandbox-options.ts'
import { LiveView } from '../../output/live-view.ts'
import { writeJsonLine } from '../../output/present.ts'
import { printable } from '../../output/printable.ts'
import { progressLine } from '../../output/search-progress.ts'
import { candidateView, reportJson } from '../../output/search-view.ts'
import { table } from '../../output/table.ts'
import { withServer } from '../../server/with-server.ts'
import { budgetOptions, rulesOf, type AgentCommandOptions } from '../agent.ts'
import { withBase, withCheckout, type BaseOptions, type BaseWork } from './base.ts'
import { judgingOf, type JudgingOptions } from './judging.ts'
import { keeping } from './kept-attempts.ts'

export interface BestOfCommandOptions extends AgentCommandOptions, BaseOptions, JudgingOptions {
  readonly bestOf: number
  readonly withModel?: readonly string[]
  readonly temperature?: readonly number[]
  readonly judgeModel?: string
  readonly tree?: boolean
}

/** What all attempts may use together where nothing was said. */
const STEPS = 60
const LIMITS = { tokens: 20_000_000, dollars: 5, wallTimeMs: 60 * 60_000 } as const

/** Lets several attempts work side by side in forks of one machine, and gives the patch of the best. Returns 0 with a winner, else 1. */
export async function agentBestOf(task: string, options: BestOfCommandOptions): Promise<number> {
  const judging = judgingOf(options)
  const context = withoutUndefined({ contextTokens: options.contextTokens })
  const models = [
    await chooseModel(options.model, context),
    ...(await Promise.all((options.withModel ?? []).map(async (name) => await openModel(name, context)))),
  ]
  const judge = options.judgeModel === undefined ? null : await openModel(options.judgeModel)
  // Refused before anything is made, not when an attempt begins.
  for (const { name } of judge === null ? models : [...models, judge])
    requirePrice(name, { dollars: options.maxCost ?? null }, options.price ?? {})
  const inWorkspace = worksInWorkspace(options)
  using live = new LiveView()
  return await interruptible(async (signal) => {
    const attempt: Given['attempt'] = async (base, workdir, hearth) => {
      const shared = new SharedBudget(limitsOf(options))
      const report = await bestOf({
        ...judging,
        base,
        workdir,
        task,
        shared,
        signal,
        attempts: variations(options.bestOf, { models, ...withoutUndefined({ temperatures: options.temperature }) }),
        // None of them is cut at less than what all may use.
        budget: budgetOptions(options),
        onEvent: viewOf(options, live),
        onProgress: progressOf(options, live),
        ...rulesOf(options, { live, signal, json: options.json }),
        ...withoutUndefined({
          verify: options.verify,
          prices: options.price,
          tree: options.tree === true ? {} : undefined,
        }),
        ...(hearth === null ? {} : { keep: keeping(hearth, task, options) }),
        ...(judge === null
          ? {}
          : { prefer: modelPreference({ model: judge, task, budget: shared, signal, prices: options.price ?? {} }) }),
      })
      live[Symbol.dispose]()
      return report
    }
    const preparing = (command: string): void => tellPreparing(options, live, command)
    const given = { task, options: { ...options, preparing }, signal, attempt }
    const report = await (inWorkspace ? onCheckout(given) : onCopy(given))
    // What there was has been given; the exit code is that of the signal.
    signal.throwIfAborted()
    return report.winner === null ? 1 : 0
  })
}

interface Given {
  readonly task: string
  readonly options: BestOfCommandOptions
  readonly signal: AbortSignal
  readonly attempt: BaseWork<BestOfReport>
}

async function onCopy({ task, options, signal, attempt }: Given): Promise<BestOfReport> {
  const { repo = '.', branch: name } = options
  const branch = name === undefined ? null : toLocalBranch(await findBranch(repo, name))
  const report = await withBase(options, signal, attempt)
  await give(report, options, task, branch)
  return report
}

/** All attempts work in copies of the workspace; what the winner has changed is brought into it, and pushed from there. */
async function onCheckout({ task, options, signal, attempt }: Given): Promise<BestOfReport> {
  return await withServer(options, async (hearth) => {
    const checkout = await checkOut(hearth, options, { signal })
    await using undo = new AsyncDisposableStack()
    if (checkout.isNew) undo.defer(async () => await checkout.workspace.remove())
    const { id } = checkout.workspace
    const report = await withCheckout(hearth, id, options, signal, attempt)
    if (report.winner !== null) undo.move()
    await give(report, options, task, toRepository({ ...checkout, bringBack: bringingBack(hearth, id) }, options))
    return report
  })
}

function limitsOf({ bestOf: count, maxSteps, maxCost, maxTime, maxTokens }: BestOfCommandOptions): BudgetLimits {
  return {
    steps: maxSteps ?? STEPS * count,
    tokens: maxTokens ?? LIMITS.tokens,
    dollars: maxCost ?? LIMITS.dollars,
    wallTimeMs: maxTime ?? LIMITS.wallTimeMs,
  }
}

/** One line for each attempt on a terminal. */
function viewOf({ json, quiet }: BestOfCommandOptions, live: LiveView): (attempt: number, event: AgentEvent) => void {
  if (json === true) {
    return (attempt, event) => void process.stdout.write(`${JSON.stringify({ attempt, ...event })}\n`)
  }
  return quiet === true ? () => undefined : (attempt, event) => live.event(event, String(attempt + 1))
}

function progressOf({ json, quiet }: BestOfCommandOptions, live: LiveView): (progress: SearchProgress) => void {
  if (json === true) return (progress) => void process.stdout.write(`${JSON.stringify(progress)}\n`)
  if (quiet === true) return () => undefined
  return (progress) => {
    const line = progressLine(progress)
    const waits = progress.type === 'judging_base' || progress.type === 'judging' || progress.type === 'comparing'
    if (line !== null) live.say(line, waits ? line : null)
  }
}

function tellPreparing({ json, quiet }: BestOfCommandOptions, live: LiveView, command: string): void {
  if (json === true) process.stdout.write(`${JSON.stringify({ type: 'preparing', command })}\n`)
  else if (quiet !== true) live.say(`preparing: ${printable(command)}`, 'preparing')
}

async function give(
  report: BestOfReport,
  options: BestOfCommandOptions,
  task: string,
  destination: Destination | null,
): Promise<void> {
  const { json, quiet } = options
  const { winner, candidates, reason } = report
  if (json === true) await writeJsonLine({ type: 'search', ...(reportJson(report) as object) })
  else if (quiet !== true) {
    const view = candidateView(report)
    const rows = table([view.header, ...candidates.map((candidate) => view.row(candidate))])
    process.stderr.write(`${rows}${printable(reason)}\n`)
  }
  if (winner === null) return
  await giveChange(outcomeOf(report, winner), options, task, destination)
}

function outcomeOf(
  { runs, reason, spent, stopped, base }: BestOfReport,
  { index, files, patch }: CandidateReport,
): Outcome {
  const diff = { available: true, files, patch } as const
  const summary = `${runs[index]?.summary ?? ''}\n\nThe best of ${runs.length} attempts: ${reason}.`.trim()
  return {
    // What was stopped is given, and pushed nowhere.
    reason: stopped ? 'stopped' : 'submitted',
    verified: true,
    proven: provesFix(base),
    diff,
    summary,
    steps: spent?.steps ?? 0,
    dollars: spent?.dollars ?? 0,
  }
}
