import { mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Limits } from '@hearth/contract'
import type { MemoryCapture, SnapshotManifest } from '../../store/snapshot-manifest.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { CaptureInput, RestoreInput, RuntimeContext, RuntimeMemory } from '../link-runtime.ts'
import { AheadStock } from './ahead-stock.ts'
import { checkFacts, hostFacts } from './checkpoint-facts.ts'
import { isLoopMount } from './loop-mount.ts'
import { kernelSocket, planRestore, type Runsc } from './runsc-plan.ts'
import { controlSocket, takeCheckpoint } from './take-checkpoint.ts'

/** Memory of gVisor sandboxes, by its own checkpoints. */
export class GvisorMemory implements RuntimeMemory {
  readonly #runsc: (context: RuntimeContext) => Promise<Runsc>

  readonly ahead: AheadStock

  constructor(runsc: (context: RuntimeContext) => Promise<Runsc>) {
    this.#runsc = runsc
    this.ahead = new AheadStock(runsc)
  }

  async obstacle(
    { sandboxDirectory }: { readonly sandboxDirectory: string },
    { facts, paths }: RuntimeContext,
  ): Promise<string | null> {
    if (!facts.root) return 'runsc restores only what root has started'
    // SAFETY: its code is not part of a checkpoint, so that another program in the same place would be executed in the middle.
    const [program, started] = await Promise.all([stat(paths.guest), stat(join(sandboxDirectory, 'keeper.pid'))])
    return program.ctimeMs > started.mtimeMs ? 'the guest program was replaced since the sandbox was started' : null
  }

  async capture(
    { sandboxDirectory, directory, captureDisk, stop }: CaptureInput,
    context: RuntimeContext,
  ): Promise<{ pausedMs: number; memory: MemoryCapture }> {
    const { paths, facts } = context
    const memory = join(directory, 'memory')
    const [socket, kernel, direct] = await Promise.all([
      controlSocket(sandboxDirectory, kernelSocket(sandboxDirectory, facts.root)),
      this.#runsc(context).then((runsc) => hostFacts(runsc, paths.guest)),
      isLoopMount(paths.store),
      mkdir(memory, { mode: 0o700 }),
    ])
    const pausedMs = await takeCheckpoint(paths.guest, { socket, directory: memory, direct }, captureDisk)
    // Its kernel goes on by itself. Its guest is still frozen, so that what happens until now reaches nobody.
    await stop?.()
    return { pausedMs, memory: { runtime: 'runsc', bytes: await sizeOf(memory), facts: kernel } }
  }

  async planRestore(input: RestoreInput, context: RuntimeContext): Promise<LaunchPlan> {
    return await planRestore(await this.#runsc(context), input, context)
  }

  async check(manifest: SnapshotManifest, limits: Limits, context: RuntimeContext): Promise<void> {
    checkFacts(manifest, limits, await hostFacts(await this.#runsc(context), context.paths.guest))
  }
}

async function sizeOf(directory: string): Promise<number> {
  const files = await Promise.all((await readdir(directory)).map((name) => stat(join(directory, name))))
  return files.reduce((sum, { size }) => sum + size, 0)
}
