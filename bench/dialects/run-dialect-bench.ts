import { ApiProcess } from '../../tests/support/api-process.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import type { BenchOptions } from '../run-bench.ts'
import { BothApis, measureDialectCreate, measureDialectExec, measureDialectFiles } from './e2b.ts'

/** What another vendor's API costs over the native one, on the same server and in the same run. */
export async function runDialectBench(options: BenchOptions = {}): Promise<BenchReport> {
  const quick = options.quick ?? false
  const recorder = new Recorder()
  await using server = await ApiProcess.start({ dialect: 'e2b' })
  const apis = new BothApis(server)
  const parts: Readonly<Record<string, () => Promise<Measurement | Measurement[]>>> = {
    create: () => measureDialectCreate(apis, quick ? 30 : 150),
    exec: () => measureDialectExec(apis, quick ? 200 : 1000),
    files: () => measureDialectFiles(apis, quick ? 3 : 10),
  }
  for (const [metric, measure] of Object.entries(parts)) {
    options.progress?.(`dialects: ${metric}`)
    await recorder.measure('process', metric, measure)
  }
  return recorder.finish(options.results)
}
