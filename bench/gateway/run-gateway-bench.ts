import { isAtLeast, RUNGS, type Secret } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { systemResolve } from '@hearth/engine/dial'
import { Recorder, type BenchReport } from '../report/bench-report.ts'
import type { Measurement } from '../report/row.ts'
import { contextFor, type BenchOptions } from '../run-bench.ts'
import { NAME, startBenchServers } from './bench-servers.ts'
import { startConnectProxy } from './connect-proxy.ts'
import { createFor, SECRET, type GatewayBenchContext } from './gateway-bench-context.ts'
import { measureBytes, measureScrubbing } from './measure-bytes.ts'
import { measureRequests, measureSetUp } from './measure-connections.ts'
import { measureUnused } from './measure-create.ts'

const TOKEN: Secret = {
  name: SECRET,
  value: 'bench_4f9b2c7d8e1a6b3c5d7e9f0a1b2c3d4e',
  binding: { name: NAME, placement: { in: 'header', header: 'authorization' } },
}

/** Measures what the way through the gateway costs: connections, requests, bytes that pass, TLS that is opened and searched, and creates. */
export async function runGatewayBench(options: BenchOptions = {}): Promise<BenchReport> {
  await using servers = await startBenchServers()
  await using proxy = await startConnectProxy()
  await using hearth = new Hearth({
    ...(options.home === undefined ? {} : { home: options.home }),
    secrets: async () => TOKEN,
    // Every name leads to the loopback, by the host's own resolver.
    gateway: { resolve: () => systemResolve('localhost'), extraRoots: [servers.certificate] },
  })
  const progress = options.progress ?? (() => undefined)
  if (proxy === null)
    progress('no comparison with a plain proxy: tinyproxy is not installed (apt-get install tinyproxy-bin)')
  const recorder = new Recorder()
  const reports = await hearth.rungs()
  for (const rung of options.rungs ?? RUNGS) {
    const found = contextFor(hearth, reports, rung, options.quick ?? false, progress)
    if (typeof found === 'string') recorder.skip(rung, found)
    else if (!found.capabilities.processes) recorder.skip(rung, 'it has no sockets')
    else {
      const context = { ...found, servers, proxy, heavy: isAtLeast(rung, 'gvisor') }
      progress(`${rung}: through the gateway`)
      await recorder.measure(rung, 'gateway', () => measureGateway(context))
      progress(`${rung}: creates`)
      await recorder.measure(rung, 'create with a policy', () => measureUnused(context))
    }
  }
  return recorder.finish(options.results)
}

async function measureGateway(context: GatewayBenchContext): Promise<Measurement[]> {
  const { rung, heavy, quick } = context
  const count = (heavy ? 40 : 200) / (quick ? 4 : 1)
  await using sandbox = await createFor(context)
  const rows = [
    await measureSetUp(context, sandbox, count),
    ...(await measureRequests(context, sandbox, count)),
    ...(await measureBytes(context, sandbox)),
  ]
  return rung === 'process' ? [...rows, await measureScrubbing(context)] : rows
}
