import type { BenchContext } from '../context.ts'
import { inTurn, usable, type NamedFloor } from '../floors/named-floor.ts'
import { restoreFloors } from '../floors/restore-floors.ts'
import { createOnce } from '../metrics/create.ts'
import { firstOutput } from '../metrics/first-output.ts'
import type { Measurement, Target } from '../report/row.ts'
import { settle } from './fork-once.ts'

const TEMPLATE_TARGET: Target = { kind: 'ratio', value: 1.1 }
const RESTORE_TARGET: Target = { kind: 'ratio', value: 1.4 }
/** Each takes less than a tenth of a second, so that fewer would say what else the host did meanwhile. */
const RESTORES = { whole: 25, quick: 15 } as const

/** A sandbox of a snapshot, in turn with one of its template, and with what the runtime alone takes to go on from a file. */
export async function measureCreateFrom(context: BenchContext): Promise<Measurement[]> {
  const { hearth, rung, capabilities } = context
  await using model = await context.create()
  await firstOutput(model, capabilities)
  const { id } = await model.snapshot()
  const fromSnapshot = async (): Promise<number> => {
    await settle(context)
    const start = performance.now()
    await using sandbox = await hearth.create({ from: id })
    return (await firstOutput(sandbox, capabilities)) - start
  }
  try {
    await using bare = await restoreFloors(context, model)
    const restores = await usable(bare.floors, context)
    const template = { name: 'create from its template', sample: () => createOnce(context) }
    await fromSnapshot()
    const taken = await inTurn(context.rounds, [template, ...restores], fromSnapshot)
    const target = rung === 'process' || rung === 'container' ? TEMPLATE_TARGET : null
    const metric = 'create from a snapshot, first output'
    return [{ rung, metric, unit: 'ms', ...taken, target }, ...(await measureRestores(context, restores))]
  } finally {
    await model.kill()
    await hearth.snapshots.remove(id)
  }
}

/** A template of microVMs is a machine that stands still: what the engine adds to going on from it, until the guest has answered. */
async function measureRestores(context: BenchContext, floors: readonly NamedFloor[]): Promise<Measurement[]> {
  const { hearth, rung, quick } = context
  if (rung !== 'microvm' || floors.length === 0) return []
  const taken = await inTurn(quick ? RESTORES.quick : RESTORES.whole, floors, async () => {
    await hearth.warm()
    const start = performance.now()
    await using _sandbox = await context.create()
    return performance.now() - start
  })
  return [{ rung, metric: 'create from a template, handed out', unit: 'ms', ...taken, target: RESTORE_TARGET }]
}
