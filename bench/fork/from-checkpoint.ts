import { Hearth } from '@hearth/engine'
import type { SnapshotId } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { inTurn } from '../floors/named-floor.ts'
import { createOnce } from '../metrics/create.ts'
import { firstOutput } from '../metrics/first-output.ts'
import type { Measurement, Target } from '../report/row.ts'
import { settle } from './fork-once.ts'

const SEVERAL = 8
const NOT_SLOWER: Target = { kind: 'ratio', value: 1 }

/** What goes on from one checkpoint of a machine that has just booted: several at once, and on gVisor next to a cold create. */
export async function measureFromCheckpoint(context: BenchContext): Promise<Measurement[]> {
  const { hearth, capabilities } = context
  if (!capabilities.memory) return []
  await using model = await context.create()
  await firstOutput(model, capabilities)
  const { id } = await model.snapshot({ memory: 'required' })
  try {
    return [await measureAtOnce(context, id), ...(await measureCold(context, id))]
  } finally {
    await hearth.snapshots.remove(id)
  }
}

async function measureAtOnce(context: BenchContext, from: SnapshotId): Promise<Measurement> {
  const answered = async (): Promise<void> => {
    await using sandbox = await context.hearth.create({ from })
    await firstOutput(sandbox, context.capabilities)
  }
  const measured = async (work: () => Promise<unknown>): Promise<number> => {
    await settle(context)
    const start = performance.now()
    await work()
    return performance.now() - start
  }
  const oneByOne = async (): Promise<void> => {
    for (let made = 0; made < SEVERAL; made++) await answered()
  }
  const floor = { name: 'one after the other', sample: () => measured(oneByOne) }
  await answered()
  const taken = await inTurn(Math.ceil(context.rounds / 5), [floor], () =>
    measured(() => Promise.all(Array.from({ length: SEVERAL }, answered))),
  )
  const metric = `${SEVERAL} of one checkpoint at once, from create to end`
  return { rung: context.rung, metric, unit: 'ms', ...taken, target: NOT_SLOWER }
}

/** Whether gVisor's sandboxes should be baked: an engine that has restored nothing yet has made nothing ahead. */
async function measureCold(context: BenchContext, from: SnapshotId): Promise<Measurement[]> {
  const { hearth, rung, capabilities } = context
  if (rung !== 'gvisor') return []
  const restored = async (): Promise<number> => {
    await using fresh = new Hearth({ home: hearth.paths.home })
    await fresh.warm()
    const start = performance.now()
    await using sandbox = await fresh.create({ from })
    return (await firstOutput(sandbox, capabilities)) - start
  }
  const floor = { name: 'from a checkpoint, nothing made ahead', sample: restored }
  const taken = await inTurn(context.rounds, [floor], () => createOnce(context))
  return [{ rung, metric: 'cold create, first output', unit: 'ms', ...taken, target: NOT_SLOWER }]
}
