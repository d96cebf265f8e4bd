import type { EmbeddedSandbox } from '@hearth/engine'
import type { Measurement } from '../report/row.ts'
import { NAME } from './bench-servers.ts'
import { besideHost, createFor, inSandbox, SECRET, type GatewayBenchContext } from './gateway-bench-context.ts'

const MB = 1_000_000
const PASSED_MB_PER_SECOND = 200
const OPENED_MB_PER_SECOND = 100
/** Of the time of a core. */
const SCRUBBING_RATIO = 1.3

/** Downloads: bytes that pass, TLS that is opened, and the latter for each second that the gateway's own thread works. */
export async function measureBytes(context: GatewayBenchContext, sandbox: EmbeddedSandbox): Promise<Measurement[]> {
  const { rung, servers, heavy, quick } = context
  const bytes = (heavy ? 20 : 200) * MB
  const rounds = quick ? 2 : 5
  const total = String(bytes)
  const plain = String(servers.plain)
  const secure = String(servers.secure)
  const passed = await besideHost(
    sandbox,
    context,
    rounds,
    ({ proxy }) => ['bulk', NAME, plain, total, '1', proxy],
    'no',
  )
  const opened = await besideHost(
    sandbox,
    context,
    rounds,
    ({ verify, proxy }) => ['opened', NAME, secure, '/', total, '1', verify, proxy],
    'yes',
  )
  const target = (value: number): Measurement['target'] => (rung === 'process' ? { kind: 'minimum', value } : null)
  const rates = { rung, unit: 'MB/s' } as const
  const rows: Measurement[] = [
    { ...rates, metric: 'bytes passed through', ...passed, target: target(PASSED_MB_PER_SECOND) },
    { ...rates, metric: 'TLS opened', ...opened, target: null },
  ]
  if (rung !== 'process') return rows
  const onOneCore: number[] = []
  for (let round = 0; round < rounds; round++)
    onOneCore.push(1000 / (await threadMsPerMegabyte(context, sandbox, '/', bytes)))
  const metric = 'TLS opened, for each second of one core'
  return [...rows, { ...rates, metric, samples: onOneCore, floors: [], target: target(OPENED_MB_PER_SECOND) }]
}

/** What it costs to look for secrets in text. Counted in time of the gateway's thread, in which all of it happens. */
export async function measureScrubbing(context: GatewayBenchContext): Promise<Measurement> {
  const { rung, quick } = context
  await using plain = await createFor(context)
  await using searched = await createFor(context, [SECRET])
  const bytes = 100 * MB
  const samples: number[] = []
  const without: number[] = []
  for (let round = 0; round < (quick ? 3 : 8); round++) {
    without.push(await threadMsPerMegabyte(context, plain, '/text/', bytes))
    samples.push(await threadMsPerMegabyte(context, searched, '/text/', bytes))
  }
  return {
    rung,
    metric: 'opened TLS searched for secrets',
    unit: 'ms/MB',
    samples,
    floors: [{ name: 'the same without secrets', samples: without }],
    target: { kind: 'ratio', value: SCRUBBING_RATIO },
  }
}

async function threadMsPerMegabyte(
  { servers }: GatewayBenchContext,
  sandbox: EmbeddedSandbox,
  path: string,
  bytes: number,
): Promise<number> {
  const before = process.threadCpuUsage()
  await inSandbox(sandbox, ['opened', NAME, String(servers.secure), path, String(bytes), '1', 'yes'])
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000 / (bytes / MB)
}
