import { isAtLeast } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { Measurement, Target } from '../report/row.ts'
import { NAME } from './bench-servers.ts'
import { besideHost, inSandbox, PASSED, type GatewayBenchContext, type Words } from './gateway-bench-context.ts'

/** Of a connection to a name that is known. */
const ADDED_MS = { light: 3, heavy: 10 } as const
/** Asked before anything is measured, so that the code of this process is compiled, as that of a server which has been running is: the bench's own server's too. */
const WARM = { light: 500, heavy: 20 } as const
/** Of small requests over TLS that passes, against a plain proxy, which can do no more than that. */
const PROXY_RATIO = 1.5

/** Until the first byte of a server is there. */
export async function measureSetUp(
  context: GatewayBenchContext,
  sandbox: EmbeddedSandbox,
  count: number,
): Promise<Measurement> {
  const { rung, servers, heavy } = context
  const inside = await inSandbox(sandbox, ['inside', String(count)])
  const { samples, floors } = await besideHost(
    sandbox,
    context,
    2,
    ({ proxy }) => ['setup', NAME, String(servers.plain), String(count / 2), proxy],
    'no',
  )
  return {
    rung,
    metric: 'connection set-up',
    unit: 'ms',
    samples,
    floors: [{ name: 'inside the sandbox', samples: inside }, ...floors],
    target: { kind: 'added', value: heavy ? ADDED_MS.heavy : ADDED_MS.light },
  }
}

/** Small requests over TLS that passes and that is opened: each on a connection of its own, and one after the other on one. */
export async function measureRequests(
  context: GatewayBenchContext,
  sandbox: EmbeddedSandbox,
  count: number,
): Promise<Measurement[]> {
  const { rung, servers, proxy, heavy } = context
  // What the sandbox's own network costs is nothing that a proxy could be compared with.
  const target: Target | null =
    proxy === null || isAtLeast(rung, 'gvisor') ? null : { kind: 'ratio', value: PROXY_RATIO }
  const rows: Measurement[] = []
  for (const [name, how, verify] of [
    [PASSED, 'TLS that passes', 'no'],
    [NAME, 'opened TLS', 'yes'],
  ] as const) {
    for (const kept of ['no', 'yes'] as const) {
      const words =
        (requests: number): Words =>
        (place) => ['requests', name, String(servers.secure), String(requests), place.verify, place.proxy, kept]
      await besideHost(sandbox, context, 1, words(heavy ? WARM.heavy : WARM.light), verify)
      const taken = await besideHost(sandbox, context, 4, words(Math.ceil(count / 4)), verify)
      const metric = `request over ${how}, ${kept === 'yes' ? 'connection kept' : 'new connection'}`
      rows.push({ rung, metric, unit: 'ms', ...taken, target: name === PASSED ? target : null })
    }
  }
  return rows
}
