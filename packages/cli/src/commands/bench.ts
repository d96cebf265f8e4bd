import { parseInput, rungSchema, type Rung } from '@hearth/contract'
import { isKept, reportText, runSuite } from '../../../../bench/main.ts'
import { Progress } from '../output/progress.ts'
import { write, writeJson } from '../output/write.ts'

export interface BenchCommandOptions {
  readonly json?: boolean
  readonly quiet?: boolean
  readonly quick?: boolean
  readonly rung?: readonly string[]
}

/** Measures this machine next to its floors. Fails when a measurement failed or a promise was not kept. */
export async function bench(suite: string, options: BenchCommandOptions): Promise<number> {
  const rungs = options.rung?.map((name): Rung => parseInput(rungSchema, name, 'rung'))
  using progress = new Progress(options.quiet === true)
  const report = await runSuite(suite, {
    quick: options.quick === true,
    progress: (line) => progress.say(line),
    ...(rungs === undefined ? {} : { rungs }),
  })
  progress.stop()
  if (options.json === true) await writeJson(report)
  else await write(process.stdout, `${reportText(report)}\n`)
  return isKept(report) ? 0 : 1
}
