import { ApiProcess } from '../../tests/support/api-process.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import type { BenchOptions } from '../run-bench.ts'
import { E2bApi } from './e2b-api.ts'
import { McpApi } from './mcp-api.ts'
import { measureCreates, measureExecs, measureFiles } from './measure.ts'
import { NativeApi } from './native-api.ts'
import { PandaStackApi } from './pandastack-api.ts'

/** What another way in costs over the native API, on the same server and in the same run. */
export async function runDialectBench(options: BenchOptions = {}): Promise<BenchReport> {
  const quick = options.quick ?? false
  const recorder = new Recorder()
  await using server = await ApiProcess.start({ dialects: ['e2b', 'pandastack'] })
  await using mcp = await McpApi.start(server)
  const native = new NativeApi(server)
  const dialects = [new E2bApi(server), new PandaStackApi(server), mcp]
  const parts: Readonly<Record<string, () => Promise<Measurement[]>>> = {
    exec: () => measureExecs(native, dialects, quick ? 200 : 1000),
    create: () => measureCreates(native, dialects, quick ? 30 : 150),
    files: () => measureFiles(native, dialects, quick ? 3 : 10),
  }
  for (const [metric, measure] of Object.entries(parts)) {
    options.progress?.(`dialects: ${metric}`)
    await recorder.measure('process', metric, measure)
  }
  return recorder.finish(options.results)
}
