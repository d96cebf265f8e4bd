import { RUNGS, type Rung } from '@hearth/contract'
import { Hearth, type RungReport } from '@hearth/engine'
import type { BenchContext } from './context.ts'
import { measureCreate } from './metrics/create.ts'
import { measureExec } from './metrics/exec.ts'
import { measureLink } from './metrics/link.ts'
import { measureMemory } from './metrics/memory.ts'
import { measureRecordedExec } from './metrics/recorded-exec.ts'
import { measureThroughput } from './metrics/throughput.ts'
import { measureTransfer } from './metrics/transfer.ts'
import { measureVolumes } from './metrics/volumes.ts'
import { Recorder, type BenchReport } from './report/bench-report.ts'
import type { Measurement } from './report/row.ts'

export interface BenchOptions {
  readonly home?: string
  /** Default: every rung that works here. */
  readonly rungs?: readonly Rung[]
  readonly quick?: boolean
  readonly progress?: (line: string) => void
  /** Where the raw samples go. Default `bench/results`. */
  readonly results?: string
}

const METRICS: Readonly<Record<string, (context: BenchContext) => Promise<Measurement | Measurement[]>>> = {
  create: measureCreate,
  exec: measureExec,
  'recorded exec': measureRecordedExec,
  transfer: measureTransfer,
  link: measureLink,
  memory: measureMemory,
  throughput: measureThroughput,
  volumes: measureVolumes,
}

/** Measures every rung next to its floor and saves the raw samples. */
export async function runBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using hearth = new Hearth(options.home === undefined ? {} : { home: options.home })
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const reports = await hearth.rungs()
  for (const rung of options.rungs ?? RUNGS) {
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

/** What a rung is measured with, or why it cannot be. */
export function contextFor(
  hearth: Hearth,
  reports: readonly RungReport[],
  rung: Rung,
  quick: boolean,
  progress: (line: string) => void,
): BenchContext | string {
  const ofRung = reports.filter((report) => report.rung === rung)
  const probe = (ofRung.find((report) => report.probe.available) ?? ofRung[0])?.probe
  if (probe === undefined) return 'no driver'
  if (!probe.available) return probe.reason
  const { capabilities } = probe
  const template = capabilities.hostTemplate ? 'host' : 'debian'
  const slow = rung === 'microvm' ? 5 : rung === 'gvisor' ? 10 : 30
  return {
    hearth,
    rung,
    capabilities,
    rounds: quick ? Math.ceil(slow / 4) : slow,
    quick,
    create: async (spec = {}) => await hearth.create({ rung, template, ...spec }, { onProgress: progress }),
    progress,
  }
}
