import { timed } from '../context.ts'
import { inTurn } from '../floors/named-floor.ts'
import type { Measurement } from '../report/row.ts'
import { policyFor, type GatewayBenchContext } from './gateway-bench-context.ts'

/** Of a create whose sandbox may reach names, and does not. */
const ADDED_MS = { light: 3, heavy: 10 } as const

/** A create with a policy that nobody uses, in turn with one that has none, for which nothing of a network is made. */
export async function measureUnused(context: GatewayBenchContext): Promise<Measurement> {
  const { hearth, rung, servers, heavy } = context
  const policy = { allow: policyFor(servers).allow?.filter((rule) => typeof rule !== 'string' && !rule.methods) ?? [] }
  const createOnce = async (spec: Parameters<typeof context.create>[0]): Promise<number> => {
    let sandbox: AsyncDisposable | null = null
    const elapsed = await timed(async () => {
      sandbox = await context.create(spec)
    })
    await (sandbox as AsyncDisposable | null)?.[Symbol.asyncDispose]()
    await hearth.warm()
    return elapsed
  }
  await createOnce({ policy })
  const floor = { name: 'without a policy', sample: () => createOnce({}) }
  const taken = await inTurn(context.rounds, [floor], () => createOnce({ policy }))
  const value = heavy ? ADDED_MS.heavy : ADDED_MS.light
  // An emulated machine writes its first file then, if not before.
  const target = rung === 'microvm' ? null : ({ kind: 'added', value } as const)
  return { rung, metric: 'create with a policy that nobody uses', unit: 'ms', ...taken, target }
}
