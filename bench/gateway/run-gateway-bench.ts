import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { isAtLeast, RUNGS, type Policy } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import { contextFor, type BenchOptions } from '../run-bench.ts'
import { NAME, startBenchServers, type BenchServers } from './bench-servers.ts'
import { CLIENT_PROGRAM } from './client-program.ts'

const MB = 1_000_000
/** Of a connection to a name that is known. */
const ADDED_MS = { light: 3, heavy: 10 } as const
const PASSED_MB_PER_SECOND = 200
const OPENED_MB_PER_SECOND = 100

/** Measures what the way through the gateway costs: connections, bytes that pass, and bytes of TLS that is opened. */
export async function runGatewayBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using servers = await startBenchServers()
  await using hearth = new Hearth({
    ...(options.home === undefined ? {} : { home: options.home }),
    gateway: { resolve: async () => ['127.0.0.1'], extraRoots: [servers.certificate] },
  })
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const reports = await hearth.rungs()
  for (const rung of options.rungs ?? RUNGS) {
    const context = contextFor(hearth, reports, rung, options.quick ?? false, progress)
    if (typeof context === 'string') recorder.skip(rung, context)
    else if (!context.capabilities.processes) recorder.skip(rung, 'it has no sockets')
    else {
      progress(`${rung}: through the gateway`)
      await recorder.measure(rung, 'gateway', () => measureGateway(context, servers))
    }
  }
  return recorder.finish(options.results)
}

async function measureGateway(context: BenchContext, servers: BenchServers): Promise<Measurement[]> {
  const { rung, quick, capabilities } = context
  const { plain, secure } = servers
  const open = { addresses: ['127.0.0.0/8'] }
  const policy: Policy = {
    allow: [
      { name: NAME, ports: [plain], ...open },
      { name: NAME, ports: [secure], methods: ['GET'], ...open },
    ],
  }
  const template = capabilities.hostTemplate ? {} : { template: 'code-interpreter' }
  await using sandbox = await context.create({ policy, ...template })
  const run = async (...words: readonly string[]): Promise<number[]> => {
    const result = await sandbox.exec(['python3', '-c', CLIENT_PROGRAM, ...words], { timeoutMs: 300_000 })
    if (result.exitCode !== 0) throw new Error(result.stderr)
    return JSON.parse(result.stdout) as number[]
  }
  const heavy = isAtLeast(rung, 'gvisor')
  const count = String((heavy ? 40 : 200) / (quick ? 4 : 1))
  const rounds = quick ? '2' : '5'
  const total = String((heavy ? 20 : 200) * MB)
  const inside = await run('inside', count)
  const setup = await run('setup', NAME, String(plain), count)
  const bulk = ['bulk', NAME, String(plain), total, rounds]
  const opened = ['opened', NAME, String(secure), total, rounds]
  const rates = { rung, unit: 'MB/s' } as const
  const target = (value: number): Measurement['target'] => (rung === 'process' ? { kind: 'minimum', value } : null)
  return [
    {
      rung,
      metric: 'connection set-up',
      unit: 'ms',
      samples: setup,
      floors: [{ name: 'inside the sandbox', samples: inside }],
      target: { kind: 'added', value: heavy ? ADDED_MS.heavy : ADDED_MS.light },
    },
    {
      ...rates,
      metric: 'bytes passed through',
      samples: await run(...bulk),
      floors: [{ name: 'direct, on the host', samples: await onHost(bulk) }],
      target: target(PASSED_MB_PER_SECOND),
    },
    {
      ...rates,
      metric: 'TLS opened',
      samples: await run(...opened, 'yes'),
      floors: [{ name: 'direct, on the host', samples: await onHost([...opened, 'no']) }],
      target: target(OPENED_MB_PER_SECOND),
    },
  ]
}

async function onHost(words: readonly string[]): Promise<number[]> {
  const direct = words.map((word) => (word === NAME ? '127.0.0.1' : word))
  const { stdout } = await promisify(execFile)('python3', ['-c', CLIENT_PROGRAM, ...direct])
  return JSON.parse(stdout) as number[]
}
