import { join } from 'node:path'
import { HearthError, memoryRefused, type Limits } from '@hearth/contract'
import type { MemoryCapture, SnapshotManifest } from '../../store/snapshot-manifest.ts'
import type { LaunchPlan } from '../launch-plan.ts'
import type { CaptureInput, RestoreInput, RuntimeContext, RuntimeMemory } from '../link-runtime.ts'
import { readResources } from '../machine-resources.ts'
import { baseImageIdentity, baseImagePath } from './base-image.ts'
import { captureMachine, recoverMachine } from './capture-machine.ts'
import { compareFacts, machineFacts } from './machine-facts.ts'
import { readMachineRecord } from './machine-record.ts'
import type { MachineStarts } from './machine-starts.ts'
import { heldFiles } from './served-volumes.ts'
import { UPPER_DISK } from './upper-disk.ts'

/** Captures running machines, and says which of them can go on here. */
export class MicrovmMemory implements RuntimeMemory {
  readonly #starts: MachineStarts

  constructor(starts: MachineStarts) {
    this.#starts = starts
  }

  async obstacle({ sandboxDirectory }: { readonly sandboxDirectory: string }): Promise<string | null> {
    if ((await readMachineRecord(sandboxDirectory)) !== null) return null
    return 'this QEMU is older than 8.2 and cannot share memory safely'
  }

  async capture(
    { sandboxDirectory, directory, captureDisk, stop }: CaptureInput,
    { paths }: RuntimeContext,
  ): Promise<{ pausedMs: number; memory: MemoryCapture }> {
    const [record, resources] = await Promise.all([
      readMachineRecord(sandboxDirectory),
      readResources(sandboxDirectory),
    ])
    if (record === null || resources === null)
      throw new HearthError('internal', `${sandboxDirectory} holds no machine that can be captured`)
    // Nothing of its volumes is under way, and nobody can remove a file before it goes on.
    if ((await heldFiles(sandboxDirectory)) > 0)
      throw memoryRefused('a process has a file of a volume open that was deleted')
    const { pausedMs, bytes } = await captureMachine({
      guest: paths.guest,
      directory: sandboxDirectory,
      memoryBytes: record.memoryBytes,
      disk: join(resources.disk.path, UPPER_DISK),
      target: join(directory, 'memory'),
      captureDisk,
      stop,
    })
    return { pausedMs, memory: { runtime: 'qemu', bytes, facts: record.facts } }
  }

  async planRestore(input: RestoreInput, context: RuntimeContext): Promise<LaunchPlan> {
    return await this.#starts.restore(input, context)
  }

  async check(manifest: SnapshotManifest, limits: Limits, context: RuntimeContext): Promise<void> {
    const parts = await this.#starts.parts(context)
    const image = baseImagePath(context.paths.cache, manifest.templateDigest)
    const identity = (await baseImageIdentity(image)) ?? 'none'
    const about = { baseIdentity: identity, volumes: manifest.volumes.length > 0 }
    compareFacts(manifest.memory?.facts ?? {}, await machineFacts(parts, limits, about, context.facts))
  }

  /** After the death of the engine that was capturing it. */
  async recover({ sandboxDirectory }: { readonly sandboxDirectory: string }): Promise<void> {
    await recoverMachine(sandboxDirectory)
  }
}
