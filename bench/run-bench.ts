import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { RUNGS, type Rung } from '@hearth/contract'
import { Hearth, type RungReport } from '@hearth/engine'
import type { BenchContext } from './context.ts'
import { measureCreate } from './metrics/create.ts'
import { measureExec } from './metrics/exec.ts'
import { measureLink } from './metrics/link.ts'
import { measureMemory } from './metrics/memory.ts'
import { measureThroughput } from './metrics/throughput.ts'
import { measureTransfer } from './metrics/transfer.ts'
import { rowOf, type Measurement, type Row } from './report/row.ts'

export interface BenchOptions {
  readonly home?: string
  /** Default: every rung that works here. */
  readonly rungs?: readonly Rung[]
  readonly quick?: boolean
  readonly progress?: (line: string) => void
  /** Where the raw samples go. Default `bench/results`. */
  readonly results?: string
}

export interface BenchReport {
  readonly startedAt: string
  readonly host: {
    readonly cores: number
    readonly memoryBytes: number
    readonly kernel: string
    readonly node: string
    readonly load: readonly number[]
  }
  readonly rows: readonly Row[]
  readonly skipped: readonly { readonly rung: Rung; readonly reason: string }[]
  readonly errors: readonly { readonly rung: Rung; readonly metric: string; readonly message: string }[]
}

const METRICS: Readonly<Record<string, (context: BenchContext) => Promise<Measurement | Measurement[]>>> = {
  create: measureCreate,
  exec: measureExec,
  transfer: measureTransfer,
  link: measureLink,
  memory: measureMemory,
  throughput: measureThroughput,
}

/** Measures every rung next to its floor and saves the raw samples. What fails is in the report, not thrown. */
export async function runBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using hearth = new Hearth(options.home === undefined ? {} : { home: options.home })
  const progress = options.progress ?? (() => undefined)
  const startedAt = new Date().toISOString()
  const host = {
    cores: cpus().length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.version,
    load: loadavg(),
  }
  const reports = await hearth.rungs()
  const measurements: Measurement[] = []
  const skipped: { rung: Rung; reason: string }[] = []
  const errors: { rung: Rung; metric: string; message: string }[] = []
  for (const rung of options.rungs ?? RUNGS) {
    const context = contextFor(hearth, reports, rung, options.quick ?? false, progress)
    if (typeof context === 'string') {
      skipped.push({ rung, reason: context })
      continue
    }
    for (const [metric, measure] of Object.entries(METRICS)) {
      progress(`${rung}: ${metric}`)
      try {
        measurements.push(...[await measure(context)].flat())
      } catch (error) {
        errors.push({ rung, metric, message: (error as Error).message })
      }
    }
  }
  const report = { startedAt, host, rows: measurements.map(rowOf), skipped, errors }
  saveResults(options.results ?? join(import.meta.dirname, 'results'), { ...report, measurements })
  return report
}

function contextFor(
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
  const slow = rung === 'microvm' ? 3 : rung === 'gvisor' ? 10 : 30
  return {
    hearth,
    rung,
    capabilities,
    rounds: quick ? Math.ceil(slow / 4) : slow,
    quick,
    create: async (spec = {}) => await hearth.create({ rung, template, ...spec }, { progress }),
    progress,
  }
}

function saveResults(
  directory: string,
  results: BenchReport & { readonly measurements: readonly Measurement[] },
): void {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, `${results.startedAt.replaceAll(':', '-')}.json`), JSON.stringify(results, null, 1))
}
