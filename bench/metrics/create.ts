import type { Rung, Sandbox } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { bubblewrapFloor } from '../floors/bubblewrap.ts'
import { floorRoot, type FloorRoot } from '../floors/floor-root.ts'
import { crunFloor, podmanFloor, runscFloor } from '../floors/oci.ts'
import { FloorHelper } from '../floors/floor-helper.ts'
import { inTurn, usable, type NamedFloor } from '../floors/named-floor.ts'
import { qemuFloor } from '../floors/qemu.ts'
import type { Measurement, Target } from '../report/row.ts'
import { firstOutput } from './first-output.ts'

const TARGETS: Readonly<Record<Rung, Target>> = {
  simulated: { kind: 'maximum', value: 5 },
  process: { kind: 'ratio', value: 1.5 },
  container: { kind: 'ratio', value: 1.3 },
  gvisor: { kind: 'ratio', value: 1.2 },
  microvm: { kind: 'ratio', value: 1.2 },
}

/** Create until the first command's output is there, in turn with the same by the runtime alone. */
export async function measureCreate(context: BenchContext): Promise<Measurement> {
  const { hearth, rung } = context
  await using model = await context.create()
  using root = rung === 'simulated' || rung === 'microvm' ? null : floorRoot(hearth.paths.cache)
  using helper = new FloorHelper()
  const floors = await usable(await floorsOf(context, model, root, helper), context)
  const taken = await inTurn(context.rounds, floors, () => createOnce(context))
  return { rung, metric: 'create to first output', unit: 'ms', ...taken, target: TARGETS[rung] }
}

/** Create until the first command's output is there, and the end of it. */
export async function createOnce(context: BenchContext): Promise<number> {
  const start = performance.now()
  await using sandbox = await context.create()
  const elapsed = (await firstOutput(sandbox, context.capabilities)) - start
  await sandbox.kill()
  // The next create meets a refilled pool of keepers, as it would at an agent's pace.
  await context.hearth.warm()
  return elapsed
}

async function floorsOf(
  context: BenchContext,
  model: Sandbox,
  root: FloorRoot | null,
  helper: FloorHelper,
): Promise<NamedFloor[]> {
  const { hearth, rung } = context
  const spawn = { name: 'plain spawn', sample: async () => await helper.plainSpawn() }
  if (rung === 'microvm') return [{ name: 'bare QEMU, cold', sample: await qemuFloor(hearth, model, '/tmp') }]
  if (root === null) return [spawn]
  switch (rung) {
    case 'process':
      return [{ name: 'bwrap', sample: bubblewrapFloor(hearth, model, root, helper) }, spawn]
    case 'container':
      return [
        { name: 'crun run', sample: crunFloor(hearth, model, root, helper) },
        { name: 'podman run', sample: podmanFloor(root, helper) },
      ]
    default:
      return [{ name: 'runsc run', sample: runscFloor(hearth, model, root, helper) }]
  }
}
