import { RUNGS } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import { contextFor, type BenchOptions } from '../run-bench.ts'
import { measureBurst, measurePoolCreates } from './pool-creates.ts'

/** Measures what a pool gives to each rung, and what it costs those who find it empty. */
export async function runPoolBench(options: BenchOptions = {}): Promise<BenchReport> {
  const home = options.home === undefined ? {} : { home: options.home }
  await using plain = new Hearth({ ...home, pool: false })
  await using pooled = new Hearth({ ...home, pool: { memoryBytes: 1024 ** 3, perShape: 2 } })
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const reports = await plain.rungs()
  for (const rung of options.rungs ?? RUNGS) {
    const contexts = [pooled, plain].map((hearth) =>
      contextFor(hearth, reports, rung, options.quick ?? false, progress),
    )
    const [withPool, without] = contexts
    if (rung === 'simulated') recorder.skip(rung, 'a sandbox is made in the time that a claim would take')
    else if (withPool === undefined || typeof withPool === 'string') recorder.skip(rung, withPool ?? 'no driver')
    else if (without !== undefined && typeof without !== 'string') {
      progress(`${rung}: creates that a machine waits for`)
      await recorder.measure(rung, 'create from the pool', () => measurePoolCreates(withPool, without))
      progress(`${rung}: many creates that find nothing`)
      await recorder.measure(rung, 'creates at once', () => measureBurst(withPool, without))
    }
  }
  return recorder.finish(options.results)
}
