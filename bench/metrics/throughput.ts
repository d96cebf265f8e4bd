import type { Rung } from '@hearth/contract'
import { timed, type BenchContext } from '../context.ts'
import type { Measurement } from '../report/row.ts'

const AT_ONCE: Readonly<Record<Rung, number>> = { simulated: 100, process: 100, container: 100, gvisor: 10, microvm: 2 }

/** Sandboxes created, used and destroyed side by side. One error fails the run. */
export async function measureThroughput(context: BenchContext): Promise<Measurement> {
  const { rung } = context
  const count = AT_ONCE[rung]
  const samples: number[] = []
  for (let round = 0; round < (context.quick || rung === 'microvm' ? 1 : 3); round++) {
    const elapsed = await timed(
      async () => await Promise.all(Array.from({ length: count }, async (_, index) => await useOne(context, index))),
    )
    samples.push(count / (elapsed / 1000))
  }
  const target = rung === 'process' ? ({ kind: 'minimum', value: 60 } as const) : null
  return { rung, metric: `${count} at once: created, used, destroyed`, unit: 'per second', samples, floors: [], target }
}

async function useOne(context: BenchContext, index: number): Promise<void> {
  await using sandbox = await context.create()
  const result = await sandbox.exec(['/bin/echo', String(index)])
  if (result.stdout !== `${index}\n`) throw new Error(`sandbox ${index} said ${JSON.stringify(result.stdout)}`)
}
