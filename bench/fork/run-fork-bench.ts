import { RUNGS } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import { contextFor, type BenchOptions } from '../run-bench.ts'
import { measureChangedFiles } from './changed-files.ts'
import { measureChildren } from './children.ts'
import { measureCreateFrom } from './create-from.ts'
import { measureFromCheckpoint } from './from-checkpoint.ts'
import { measureParent } from './parent-afterwards.ts'
import { measureTouchedMemory } from './touched-memory.ts'
import { measureWake } from './wake.ts'

const METRICS: Readonly<Record<string, (context: BenchContext) => Promise<Measurement | Measurement[]>>> = {
  children: measureChildren,
  'parent afterwards': measureParent,
  'create from a snapshot': measureCreateFrom,
  wake: measureWake,
  'from one checkpoint': measureFromCheckpoint,
  'changed files': measureChangedFiles,
  'touched memory': measureTouchedMemory,
}

/** What it costs to copy a sandbox, on every rung that can, next to what the host needs for the same. */
export async function runForkBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using hearth = new Hearth(options.home === undefined ? {} : { home: options.home })
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const reports = await hearth.rungs()
  for (const rung of options.rungs ?? RUNGS) {
    const context = contextFor(hearth, reports, rung, options.quick ?? false, progress)
    if (typeof context === 'string' || !context.capabilities.snapshots) {
      recorder.skip(rung, typeof context === 'string' ? context : 'it has no snapshots')
      continue
    }
    for (const [metric, measure] of Object.entries(METRICS)) {
      progress(`${rung}: ${metric}`)
      await recorder.measure(rung, metric, () => measure(context))
    }
  }
  return recorder.finish(options.results)
}
