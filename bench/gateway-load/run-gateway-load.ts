import { Hearth } from '@hearth/engine'
import { startBenchServers } from '../gateway/bench-servers.ts'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { BenchOptions } from '../run-bench.ts'
import { largeDownload, manyRequests, manySandboxes, type LoadSize } from './gateway-load.ts'

const FULL: LoadSize = {
  sandboxes: 200,
  connections: 10,
  bytes: 250_000,
  downloadBytes: 1_000_000_000,
  requestSeconds: 10,
}
const QUICK: LoadSize = { ...FULL, sandboxes: 20, downloadBytes: 100_000_000, requestSeconds: 2 }
/** Of the process that has the gateway, for each open connection and for a transfer of any size. */
const KB_PER_CONNECTION = 256
const KB_OF_A_TRANSFER = 128 * 1024
const REQUESTS_PER_SECOND = 1000

/** Loads the gateway: many sandboxes with many connections, a large download, and many requests of opened TLS. What is lost is an error. */
export async function runGatewayLoad(options: BenchOptions = {}): Promise<BenchReport> {
  await using servers = await startBenchServers()
  await using hearth = new Hearth({
    ...(options.home === undefined ? {} : { home: options.home }),
    gateway: { resolve: async () => ['127.0.0.1'], extraRoots: [servers.certificate] },
  })
  const size = options.quick === true ? QUICK : FULL
  const context = { hearth, servers, size }
  const progress = options.progress ?? (() => undefined)
  const recorder = new Recorder()
  const rung = 'process'
  const shared = { rung, floors: [] } as const
  progress(`${size.sandboxes} sandboxes with ${size.connections} connections each`)
  await recorder.measure(rung, 'many sandboxes', async () => {
    const { grownBytes, seconds } = await manySandboxes(context)
    const connections = size.sandboxes * size.connections
    const megabytes = (connections * size.bytes) / 1e6
    return [
      {
        ...shared,
        metric: `memory of each of ${connections} connections`,
        unit: 'KB',
        samples: [grownBytes / 1024 / connections],
        target: { kind: 'maximum', value: KB_PER_CONNECTION },
      },
      {
        ...shared,
        metric: `bytes through ${connections} connections`,
        unit: 'MB/s',
        samples: [megabytes / seconds],
        target: null,
      },
    ]
  })
  progress(`a download of ${size.downloadBytes / 1e6} MB`)
  await recorder.measure(rung, 'download', async () => {
    const { grownBytes, megabytesPerSecond } = await largeDownload(context)
    return [
      {
        ...shared,
        metric: 'memory of a large download',
        unit: 'KB',
        samples: [grownBytes / 1024],
        target: { kind: 'maximum', value: KB_OF_A_TRANSFER },
      },
      { ...shared, metric: 'large download', unit: 'MB/s', samples: [megabytesPerSecond], target: null },
    ]
  })
  progress(`requests for ${size.requestSeconds} s`)
  await recorder.measure(rung, 'requests', async () => {
    const { grownBytes, perSecond } = await manyRequests(context)
    return [
      {
        ...shared,
        metric: 'requests through opened TLS',
        unit: 'per second',
        samples: [perSecond],
        target: { kind: 'minimum', value: REQUESTS_PER_SECOND },
      },
      {
        ...shared,
        metric: 'memory of many requests',
        unit: 'KB',
        samples: [grownBytes / 1024],
        target: { kind: 'maximum', value: KB_OF_A_TRANSFER },
      },
    ]
  })
  return recorder.finish(options.results)
}
