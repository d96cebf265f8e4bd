import { isAtLeast } from '@hearth/contract'
import { timed, type BenchContext } from '../context.ts'
import { inTurn } from '../floors/named-floor.ts'
import { firstOutput } from '../metrics/first-output.ts'
import type { Measurement, Target } from '../report/row.ts'

/** Of a create that finds a machine. */
const HANDED_OUT_MS = 6
/** The first command of a machine that is emulated takes a quarter of a second, and never the same. */
const EMULATED: Target = { kind: 'ratio', value: 1.1 }

/** Creates that a machine waits for, in turn with those that start one. */
export async function measurePoolCreates(pooled: BenchContext, plain: BenchContext): Promise<Measurement[]> {
  const { rung, capabilities, hearth } = pooled
  // From here on one waits.
  await (await pooled.create()).kill()
  const waited = async (body: () => Promise<number>): Promise<number> => {
    await hearth.warm()
    const { claimed } = hearth.pool.report()
    const elapsed = await body()
    if (hearth.pool.report().claimed === claimed) throw new Error('no machine waited')
    return elapsed
  }
  const handedOut = async (context: BenchContext): Promise<number> => {
    await context.hearth.warm()
    const start = performance.now()
    await using _sandbox = await context.create()
    return performance.now() - start
  }
  const cold = { name: 'create without a pool', sample: () => handedOut(plain) }
  const created = await inTurn(pooled.rounds, [cold], () => waited(() => handedOut(pooled)))
  const command = {
    name: 'first command alone',
    sample: async () => {
      await using sandbox = await plain.create()
      const start = performance.now()
      return (await firstOutput(sandbox, capabilities)) - start
    },
  }
  const said = await inTurn(pooled.rounds, [command], () =>
    waited(async () => {
      const start = performance.now()
      await using sandbox = await pooled.create()
      return (await firstOutput(sandbox, capabilities)) - start
    }),
  )
  const unit = 'ms' as const
  const one: Target = rung === 'microvm' ? EMULATED : { kind: 'added', value: HANDED_OUT_MS }
  return [
    { rung, metric: 'create from the pool', unit, ...created, target: { kind: 'maximum', value: HANDED_OUT_MS } },
    { rung, metric: 'first output from the pool', unit, ...said, target: one },
  ]
}

const BURST = 100
const QUICK_BURST = 20
/** A kernel of its own, with what it copies; what a burst may take of the memory that the host has left. */
const HEAVY_BYTES = 64 * 1024 ** 2
const MOST_OF_MEMORY = 0.6
/** The two are the same but for the noise of a machine on which so much happens at once. */
const BURST_RATIO = 1.1

/** Many creates at once that find nothing, in turn with the same without a pool. */
export async function measureBurst(pooled: BenchContext, plain: BenchContext): Promise<Measurement> {
  const { rung, quick } = pooled
  const fits = Math.floor((process.availableMemory() * MOST_OF_MEMORY) / HEAVY_BYTES)
  const full = isAtLeast(rung, 'gvisor') ? Math.max(QUICK_BURST, Math.min(BURST, fits)) : BURST
  const count = quick ? QUICK_BURST : full
  const burst = async (context: BenchContext): Promise<number> => {
    await empty(context)
    let made: AsyncDisposable[] = []
    const elapsed = await timed(async () => {
      made = await Promise.all(Array.from({ length: count }, () => context.create()))
    })
    await Promise.all(made.map((sandbox) => sandbox[Symbol.asyncDispose]()))
    return elapsed
  }
  const rounds = quick ? 2 : 3
  const taken = await inTurn(rounds, [{ name: 'without a pool', sample: () => burst(plain) }], () => burst(pooled))
  const metric = `${count} creates at once, empty pool`
  return { rung, metric, unit: 'ms', ...taken, target: { kind: 'ratio', value: BURST_RATIO } }
}

/** Nothing waits, and what would be started next is not known. */
async function empty({ hearth }: BenchContext): Promise<void> {
  const { memoryBytes } = hearth.pool.report()
  await hearth.pool.set({ memoryBytes: 0 })
  await hearth.warm()
  await hearth.pool.set({ memoryBytes })
}
