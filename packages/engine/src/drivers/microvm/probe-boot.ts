import { chown } from 'node:fs/promises'
import { join } from 'node:path'
import type { RuntimeContext } from '../link-runtime.ts'
import { emptyMemory } from './empty-memory.ts'
import type { MachineParts } from './machine-plan.ts'
import { withTrialMachine } from './trial-machine.ts'
import { emptyDisk, makeUpperDisk } from './upper-disk.ts'

const MiB = 1024 * 1024
const DISK_BYTES = 16 * MiB
const MEMORY_BYTES = 128 * MiB

/** Starts a machine as every launch does, on two empty disks, waits until its guest answers, and ends it. */
export async function bootOnce(parts: MachineParts, context: RuntimeContext, timeoutMs: number): Promise<void> {
  const { cache } = context.paths
  await withTrialMachine(
    parts,
    context,
    async (directory, idBase) => {
      const base = join(directory, 'base')
      await makeUpperDisk(cache, base, DISK_BYTES)
      if (idBase !== null) await chown(base, idBase, idBase)
      return {
        base,
        upper: { path: join(directory, 'upper'), from: await emptyDisk(cache, DISK_BYTES) },
        memory: parts.qemu.privateMemory ? await emptyMemory(cache, MEMORY_BYTES) : null,
        start: { kind: 'boot', pids: 64 },
        volumes: null,
        memoryBytes: MEMORY_BYTES,
        cpus: 1,
      }
    },
    async (_directory, link) => await link.hello({ timeoutMs }),
  )
}
