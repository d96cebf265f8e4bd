import type { Rung, Sandbox } from '@hearth/contract'
import type { BenchContext } from '../context.ts'
import { bubblewrapFloor } from '../floors/bubblewrap.ts'
import { floorRoot, type FloorRoot } from '../floors/floor-root.ts'
import { crunFloor, podmanFloor, runscFloor } from '../floors/oci.ts'
import { FloorHelper } from '../floors/floor-helper.ts'
import { qemuFloor } from '../floors/qemu.ts'
import type { Floor, Measurement, Target } from '../report/row.ts'

const TARGETS: Readonly<Record<Rung, Target>> = {
  simulated: { kind: 'maximum', value: 5 },
  process: { kind: 'ratio', value: 1.5 },
  container: { kind: 'ratio', value: 1.3 },
  gvisor: { kind: 'ratio', value: 1.2 },
  microvm: { kind: 'ratio', value: 1.2 },
}

interface NamedFloor {
  readonly name: string
  readonly sample: () => Promise<number>
}

/** Create until the first command's output is there, in turn with the same by the runtime alone. */
export async function measureCreate(context: BenchContext): Promise<Measurement> {
  const { hearth, rung } = context
  await using model = await context.create()
  using root = rung === 'simulated' || rung === 'microvm' ? null : floorRoot(hearth.paths.cache)
  using helper = new FloorHelper()
  const floors = await usable(await floorsOf(context, model, root, helper), context)
  const samples: number[] = []
  const floorSamples = floors.map((floor): Floor & { samples: number[] } => ({ name: floor.name, samples: [] }))
  for (let round = 0; round < context.rounds; round++) {
    for (const [index, floor] of floors.entries()) floorSamples[index]?.samples.push(await floor.sample())
    samples.push(await createOnce(context))
  }
  return { rung, metric: 'create to first output', unit: 'ms', samples, floors: floorSamples, target: TARGETS[rung] }
}

async function createOnce(context: BenchContext): Promise<number> {
  if (!context.capabilities.processes) return await createAndRun(context)
  const start = performance.now()
  await using sandbox = await context.create()
  await using command = await sandbox.spawn(['/bin/echo', 'ready'])
  let elapsed = Number.NaN
  let said = ''
  for await (const { data } of command.output) {
    // As for the floor: where the output is there, not where the process has ended.
    if (said === '') elapsed = performance.now() - start
    said += Buffer.from(data).toString()
  }
  if (said !== 'ready\n') throw new Error(`the first command said ${JSON.stringify(said)}`)
  await sandbox.kill()
  // The next create meets a refilled pool of keepers, as it would at an agent's pace.
  await context.hearth.warm()
  return elapsed
}

/** Where nothing runs beside the caller, output comes with the end. */
async function createAndRun(context: BenchContext): Promise<number> {
  const start = performance.now()
  await using sandbox = await context.create()
  const { stdout } = await sandbox.exec(['/bin/echo', 'ready'])
  if (stdout !== 'ready\n') throw new Error(`the first command said ${JSON.stringify(stdout)}`)
  return performance.now() - start
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

/** A floor that does not work here (podman is not installed) is left out, and said. */
async function usable(floors: readonly NamedFloor[], context: BenchContext): Promise<NamedFloor[]> {
  const found: NamedFloor[] = []
  for (const floor of floors) {
    try {
      await floor.sample()
      found.push(floor)
    } catch (error) {
      context.progress(`no floor "${floor.name}": ${(error as Error).message}`)
    }
  }
  return found
}
