import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hearth as Engine } from '@hearth/engine'
import { ApiProcess } from '../../tests/support/api-process.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import type { BenchOptions } from '../run-bench.ts'
import { measureCreateOverhead, measureExecOverhead } from './overhead.ts'
import { measureRequests } from './requests.ts'
import { measureRows } from './rows.ts'

/** What the API costs over the engine in this process, and what a server can take. Each part has a server of its own. */
export async function runApiBench(options: BenchOptions = {}): Promise<BenchReport> {
  const quick = options.quick ?? false
  const recorder = new Recorder()
  const parts: Readonly<Record<string, () => Promise<Measurement[]>>> = {
    overhead: () => overhead(quick),
    requests: async () => {
      await using server = await ApiProcess.start({ core: 0 })
      return await measureRequests(server, quick)
    },
    rows: async () => {
      await using server = await ApiProcess.start()
      return await measureRows(server, quick ? 1 : 3)
    },
  }
  for (const [metric, measure] of Object.entries(parts)) {
    options.progress?.(`api: ${metric}`)
    await recorder.measure('process', metric, measure)
  }
  return recorder.finish(options.results)
}

async function overhead(quick: boolean): Promise<Measurement[]> {
  const home = await mkdtemp(join(tmpdir(), 'hearth-bench-'))
  try {
    await using server = await ApiProcess.start()
    await using engine = new Engine({ home })
    const client = server.client()
    return [
      ...(await measureCreateOverhead(client, engine, quick ? 30 : 150)),
      ...(await measureExecOverhead(client, engine, quick ? 200 : 1000)),
    ]
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}
