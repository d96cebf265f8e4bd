import { parseArgs } from 'node:util'
import { parseInput, rungSchema } from '@hearth/contract'
import { table } from './report/table.ts'
import { runBench, type BenchReport } from './run-bench.ts'

export { runBench, type BenchOptions, type BenchReport } from './run-bench.ts'
export { table } from './report/table.ts'

/** The report for people: rows, then what was left out and what failed. */
export function reportText(report: BenchReport): string {
  const notes = [
    ...report.skipped.map(({ rung, reason }) => `${rung}: left out, ${reason}`),
    ...report.errors.map(({ rung, metric, message }) => `${rung}: ${metric} failed: ${message}`),
  ]
  return [table(report.rows), ...notes].join('\n')
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, rung: { type: 'string', multiple: true } },
  })
  const rungs = values.rung?.map((rung) => parseInput(rungSchema, rung, 'rung'))
  const report = await runBench({
    quick: values.quick ?? false,
    progress: (line) => process.stderr.write(`${line}\n`),
    ...(rungs === undefined ? {} : { rungs }),
  })
  process.stdout.write(`${values.json === true ? JSON.stringify(report) : reportText(report)}\n`)
  const failed = report.errors.length > 0 || report.rows.some((row) => row.pass === false)
  process.exitCode = failed ? 1 : 0
}
