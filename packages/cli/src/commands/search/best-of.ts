import { writeFile } from 'node:fs/promises'
import {
  bestOf,
  modelPreference,
  openModel,
  SharedBudget,
  variations,
  type AgentEvent,
  type BestOfReport,
} from '@hearth/agent'
import type { BudgetLimits } from '@hearth/contract'
import { chooseModel } from '../../agent/choose-model.ts'
import { findBranch, writeBranch, type LocalBranch } from '../../agent/local-branch.ts'
import { onLocal } from '../../copy/local-failure.ts'
import { interruptible } from '../../interruptible.ts'
import { withoutUndefined } from '../../options/sandbox-options.ts'
import { LiveView } from '../../output/live-view.ts'
import { writeJsonLine } from '../../output/present.ts'
import { printable } from '../../output/printable.ts'
import { candidateView, reportJson } from '../../output/search-view.ts'
import { table } from '../../output/table.ts'
import { write } from '../../output/write.ts'
import type { AgentCommandOptions } from '../agent.ts'
import { withBase, type BaseOptions } from './base.ts'
import { judgingOf, type JudgingOptions } from './judging.ts'

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
  const models = [
    await chooseModel(options.model),
    ...(await Promise.all((options.withModel ?? []).map(async (name) => await openModel(name)))),
  ]
  const judge = options.judgeModel === undefined ? null : await openModel(options.judgeModel)
  const branch = options.branch === undefined ? null : await findBranch(options.repo ?? '.', options.branch)
  using live = new LiveView()
  return await interruptible(async (signal) => {
    const report = await withBase(options, signal, async (base, workdir) => {
      const shared = new SharedBudget(limitsOf(options))
      return await bestOf({
        ...judging,
        base,
        workdir,
        task,
        shared,
        signal,
        attempts: variations(options.bestOf, { models, ...withoutUndefined({ temperatures: options.temperature }) }),
        // A limit in money is refused for a model without a price.
        budget: withoutUndefined({ dollars: options.maxCost }),
        onEvent: viewOf(options, live),
        ...withoutUndefined({ verify: options.verify, tree: options.tree === true ? {} : undefined }),
        ...(judge === null ? {} : { prefer: modelPreference({ model: judge, task, budget: shared, signal }) }),
      })
    })
    live[Symbol.dispose]()
    await give(report, options, task, branch)
    return report.winner === null ? 1 : 0
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

async function give(
  report: BestOfReport,
  { json, quiet, diff: file }: BestOfCommandOptions,
  task: string,
  branch: LocalBranch | null,
): Promise<void> {
  const { winner, candidates, reason } = report
  if (json === true) await writeJsonLine({ type: 'search', ...(reportJson(report) as object) })
  else if (quiet !== true) {
    const view = candidateView(report)
    const rows = table([view.header, ...candidates.map((candidate) => view.row(candidate))])
    process.stderr.write(`${rows}${printable(reason)}\n`)
  }
  if (winner === null) return
  if (typeof file === 'string') await onLocal(file, async () => await writeFile(file, winner.patch))
  else if (json !== true && (branch === null || file === true)) await write(process.stdout, winner.patch)
  if (branch === null) return
  const commit = await writeBranch(branch, winner.patch, `${task.trim().split('\n')[0]}\n`)
  if (quiet === true) await write(process.stdout, `${commit}\n`)
  else if (json !== true) process.stderr.write(`branch ${printable(branch.name)}: ${commit}\n`)
}
