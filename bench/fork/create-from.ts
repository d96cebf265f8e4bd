import type { BenchContext } from '../context.ts'
import { inTurn, usable } from '../floors/named-floor.ts'
import { restoreFloors } from '../floors/restore-floors.ts'
import { createOnce } from '../metrics/create.ts'
import { firstOutput } from '../metrics/first-output.ts'
import type { Measurement, Target } from '../report/row.ts'
import { settle } from './fork-once.ts'

const TEMPLATE_TARGET: Target = { kind: 'ratio', value: 1.2 }
const RESTORE_TARGET: Target = { kind: 'ratio', value: 1.4 }

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
    const floors = [
      { name: 'create from its template', sample: () => createOnce(context) },
      ...(await usable(bare.floors, context)),
    ]
    await fromSnapshot()
    const taken = await inTurn(context.rounds, floors, fromSnapshot)
    const target = capabilities.memory ? null : TEMPLATE_TARGET
    const rows: Measurement[] = [
      { rung, metric: 'create from a snapshot to the first answer', unit: 'ms', ...taken, target },
    ]
    // There also a template is a machine that stands still.
    const [own, restore] = taken.floors
    if (rung !== 'microvm' || own === undefined || restore === undefined) return rows
    const metric = 'create from a template to the first answer'
    const { samples } = own
    return [...rows, { rung, metric, unit: 'ms', samples, floors: [restore], target: RESTORE_TARGET }]
  } finally {
    await model.kill()
    await hearth.snapshots.remove(id)
  }
}
