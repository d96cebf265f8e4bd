import { Hearth } from '@hearth/engine'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import { contextFor, type BenchOptions } from '../run-bench.ts'
import { measureBestOf, measureJudging } from './side-by-side.ts'
import { measureWorkspaces } from '../workspace/workspace-creation.ts'
import { measureSteps } from './step-overhead.ts'

const METRICS = {
  steps: measureSteps,
  judging: measureJudging,
  'best of five': measureBestOf,
  workspaces: measureWorkspaces,
} as const

/** Measures what the agent adds to a step, and what forks save to those who try several things. */
export async function runAgentBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using hearth = new Hearth(options.home === undefined ? {} : { home: options.home })
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const reports = await hearth.rungs()
  for (const rung of options.rungs ?? (['process'] as const)) {
    const context = contextFor(hearth, reports, rung, options.quick ?? false, progress)
    if (typeof context === 'string') {
      recorder.skip(rung, context)
      continue
    }
    for (const [metric, measure] of Object.entries(METRICS)) {
      progress(`${rung}: ${metric}`)
      await recorder.measure(rung, metric, () => measure(context))
    }
  }
  return recorder.finish(options.results)
}
