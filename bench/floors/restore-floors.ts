import type { EmbeddedSandbox } from '@hearth/engine'
import type { BenchContext } from '../context.ts'
import { FloorHelper } from './floor-helper.ts'
import { floorRoot } from './floor-root.ts'
import type { NamedFloor } from './named-floor.ts'
import { qemuRestoreFloor } from './qemu.ts'
import { RunscCheckpoint } from './runsc-restore.ts'

interface RestoreFloors extends AsyncDisposable {
  readonly floors: readonly NamedFloor[]
}

/** What the runtime alone takes to go on from a file, on the rungs whose runtime can. */
export async function restoreFloors({ hearth, rung }: BenchContext, model: EmbeddedSandbox): Promise<RestoreFloors> {
  await using stack = new AsyncDisposableStack()
  const floors: NamedFloor[] = []
  if (rung === 'microvm') {
    floors.push({ name: 'bare QEMU, restored', sample: await qemuRestoreFloor(hearth, model, '/tmp') })
  }
  if (rung === 'gvisor') {
    const root = stack.use(floorRoot(hearth.paths.cache))
    const helper = stack.use(new FloorHelper())
    const checkpoint = stack.use(new RunscCheckpoint(hearth, model, root, helper))
    floors.push({ name: 'runsc restore', sample: () => checkpoint.restore() })
  }
  const held = stack.move()
  return { floors, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
