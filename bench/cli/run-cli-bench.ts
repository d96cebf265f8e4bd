import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { ApiProcess } from '../../tests/support/api-process.ts'
import { timed } from '../context.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement, Target } from '../report/row.ts'
import type { BenchOptions } from '../run-bench.ts'

const HEARTH = join(import.meta.dirname, '../../packages/cli/bin/hearth.js')
const HELP_TARGET: Target = { kind: 'maximum', value: 150 }
const EXEC_TARGET: Target = { kind: 'added', value: 200 }
/** The first runs compile what all others find compiled. */
const WARM_UP = 3

/** What the command line costs: before it says anything, and over the call that it makes. */
export async function runCliBench(options: BenchOptions = {}): Promise<BenchReport> {
  const rounds = options.quick === true ? 10 : 40
  const recorder = new Recorder()
  options.progress?.('cli: help')
  await recorder.measure('process', 'help', () => measureHelp(rounds))
  options.progress?.('cli: exec')
  await recorder.measure('process', 'exec', () => measureExec(rounds))
  return recorder.finish(options.results)
}

async function measureHelp(rounds: number): Promise<Measurement> {
  const floor: number[] = []
  const samples: number[] = []
  for (let round = -WARM_UP; round < rounds; round++) {
    const bare = await timed(() => run(process.execPath, ['--eval', '0']))
    const elapsed = await timed(() => run(HEARTH, ['--help']))
    if (round < 0) continue
    floor.push(bare)
    samples.push(elapsed)
  }
  const floors = [{ name: 'node alone', samples: floor }]
  return { rung: 'process', metric: 'hearth --help', unit: 'ms', samples, floors, target: HELP_TARGET }
}

/** `hearth exec ID true`, in turn with the same call by a client that is already there. */
async function measureExec(rounds: number): Promise<Measurement> {
  await using server = await ApiProcess.start()
  await using sandbox = await server.client().create({ rung: 'process', template: 'host' })
  const floor: number[] = []
  const samples: number[] = []
  for (let round = -WARM_UP; round < rounds; round++) {
    const call = await timed(() => sandbox.exec(['/bin/true']))
    const elapsed = await timed(() => run(HEARTH, ['exec', sandbox.id, '/bin/true'], server.environment))
    if (round < 0) continue
    floor.push(call)
    samples.push(elapsed)
  }
  const floors = [{ name: 'the call itself', samples: floor }]
  return { rung: 'process', metric: 'hearth exec of true', unit: 'ms', samples, floors, target: EXEC_TARGET }
}

async function run(program: string, args: readonly string[], environment: Record<string, string> = {}): Promise<void> {
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...environment } })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${said}`)
}
