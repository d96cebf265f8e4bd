import { parseArgs } from 'node:util'
import { HearthError, parseInput, rungSchema } from '@hearth/contract'
import { runAgentBench } from './agent/run-agent-bench.ts'
import { runApiBench } from './api/run-api-bench.ts'
import { runCliBench } from './cli/run-cli-bench.ts'
import { runDialectBench } from './dialects/run-dialect-bench.ts'
import { runForkBench } from './fork/run-fork-bench.ts'
import { runGatewayBench } from './gateway/run-gateway-bench.ts'
import { runGatewayLoad } from './gateway-load/run-gateway-load.ts'
import { runPoolBench } from './pool/run-pool-bench.ts'
import type { BenchReport } from './report/bench-report.ts'
import { table } from './report/table.ts'
import { runBench, type BenchOptions } from './run-bench.ts'

/** What can be measured, by name. */
export const SUITES: Readonly<Record<string, (options: BenchOptions) => Promise<BenchReport>>> = {
  rungs: runBench,
  agent: runAgentBench,
  api: runApiBench,
  cli: runCliBench,
  dialects: runDialectBench,
  fork: runForkBench,
  gateway: runGatewayBench,
  'gateway-load': runGatewayLoad,
  pool: runPoolBench,
}

export async function runSuite(name: string, options: BenchOptions = {}): Promise<BenchReport> {
  const suite = Object.hasOwn(SUITES, name) ? SUITES[name] : undefined
  if (suite !== undefined) return await suite(options)
  throw new HearthError('invalid_request', `suite: must be one of ${Object.keys(SUITES).join(', ')}`)
}

/** The report for people: rows, then what was left out and what failed. */
export function reportText(report: BenchReport): string {
  const notes = [
    ...report.skipped.map(({ rung, reason }) => `${rung}: left out, ${reason}`),
    ...report.errors.map(({ rung, metric, message }) => `${rung}: ${metric} failed: ${message}`),
  ]
  return [table(report.rows), ...notes].join('\n')
}

export function isKept(report: BenchReport): boolean {
  return report.errors.length === 0 && report.rows.every((row) => row.pass !== false)
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean' }, quick: { type: 'boolean' }, rung: { type: 'string', multiple: true } },
    allowPositionals: true,
  })
  const rungs = values.rung?.map((rung) => parseInput(rungSchema, rung, 'rung'))
  const report = await runSuite(positionals[0] ?? 'rungs', {
    quick: values.quick ?? false,
    progress: (line) => process.stderr.write(`${line}\n`),
    ...(rungs === undefined ? {} : { rungs }),
  })
  process.stdout.write(`${values.json === true ? JSON.stringify(report) : reportText(report)}\n`)
  process.exitCode = isKept(report) ? 0 : 1
}
