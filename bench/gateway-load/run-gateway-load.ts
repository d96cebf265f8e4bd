import { Hearth } from '@hearth/engine'
import { systemResolve } from '@hearth/engine/dial'
import { startBenchServers } from '../gateway/bench-servers.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement, Target } from '../report/row.ts'
import type { BenchOptions } from '../run-bench.ts'
import { largeDownload, manyRequests, manySandboxes, type LoadContext, type LoadSize } from './gateway-load.ts'

const FULL: LoadSize = {
  sandboxes: 200,
  connections: 10,
  bytes: 250_000,
  downloadBytes: 1_000_000_000,
  requestSeconds: 10,
}
const QUICK: LoadSize = { ...FULL, sandboxes: 20, downloadBytes: 100_000_000, requestSeconds: 2 }
/** Of the process that has the gateway: for each open connection, and for a transfer of any size. */
const KB_PER_CONNECTION = 256
const KB_OF_A_TRANSFER = 128 * 1024
const REQUESTS_PER_SECOND = 1000

const LOADS: Readonly<Record<string, (context: LoadContext) => Promise<Measurement[]>>> = {
  'many sandboxes': loadSandboxes,
  'a large download': loadDownload,
  'many requests': loadRequests,
}

/** Loads the gateway: many sandboxes with many connections, a large download, and many requests of opened TLS. What is lost is an error. */
export async function runGatewayLoad(options: BenchOptions = {}): Promise<BenchReport> {
  await using servers = await startBenchServers()
  await using hearth = new Hearth({
    ...(options.home === undefined ? {} : { home: options.home }),
    // Every name leads to the loopback, by the host's own resolver.
    gateway: { resolve: () => systemResolve('localhost'), extraRoots: [servers.certificate] },
  })
  const context = { hearth, servers, size: options.quick === true ? QUICK : FULL }
  const recorder = new Recorder()
  for (const [name, load] of Object.entries(LOADS)) {
    options.progress?.(`through the gateway: ${name}`)
    await recorder.measure('process', name, () => load(context))
  }
  return recorder.finish(options.results)
}

async function loadSandboxes(context: LoadContext): Promise<Measurement[]> {
  const { sandboxes, connections, bytes } = context.size
  const { grownBytes, seconds } = await manySandboxes(context)
  const count = sandboxes * connections
  return [
    measured(`memory of each of ${count} connections`, 'KB', grownBytes / 1024 / count, atMost(KB_PER_CONNECTION)),
    measured(`bytes through ${count} connections`, 'MB/s', (count * bytes) / 1e6 / seconds, null),
  ]
}

async function loadDownload(context: LoadContext): Promise<Measurement[]> {
  const { grownBytes, megabytesPerSecond } = await largeDownload(context)
  return [
    measured('memory of a large download', 'KB', grownBytes / 1024, atMost(KB_OF_A_TRANSFER)),
    measured('large download', 'MB/s', megabytesPerSecond, null),
  ]
}

async function loadRequests(context: LoadContext): Promise<Measurement[]> {
  const { grownBytes, perSecond } = await manyRequests(context)
  const wanted: Target = { kind: 'minimum', value: REQUESTS_PER_SECOND }
  return [
    measured('requests through opened TLS', 'per second', perSecond, wanted),
    measured('memory of many requests', 'KB', grownBytes / 1024, atMost(KB_OF_A_TRANSFER)),
  ]
}

function measured(metric: string, unit: Measurement['unit'], sample: number, target: Target | null): Measurement {
  return { rung: 'process', metric, unit, samples: [sample], floors: [], target }
}

function atMost(value: number): Target {
  return { kind: 'maximum', value }
}
