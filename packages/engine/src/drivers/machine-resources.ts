import { renameSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, type SandboxId } from '@hearth/contract'
import { z } from 'zod'
import type { Cgroups } from '../host/cgroups.ts'
import type { IdRanges } from '../host/id-ranges.ts'
import { clearDirectory, isAsleep } from '../sandbox/sandbox-record.ts'
import type { AreaPlace, DiskAreas } from '../store/disk-area.ts'

/** What the host holds for one machine. Written down before the launch, so that it can be freed after any crash. */
export interface MachineResources {
  readonly cgroup: { readonly directories: readonly string[] }
  readonly idBase: number | null
  readonly disk: AreaPlace
}

const schema = z.object({
  cgroup: z.object({ directories: z.array(z.string()) }),
  idBase: z.int().nullable(),
  disk: z.object({
    path: z.string(),
    kind: z.enum(['quota', 'memory', 'none']),
    layers: z.array(z.string()).default([]),
  }),
})

const FILE = 'resources.json'

/** In one step: a reader, also one after a crash, sees all of it or nothing. */
export function writeResources(directory: string, resources: MachineResources): void {
  const temporary = join(directory, `${FILE}.new`)
  writeFileSync(temporary, JSON.stringify(resources), { mode: 0o600 })
  renameSync(temporary, join(directory, FILE))
}

export async function readResources(directory: string): Promise<MachineResources | null> {
  let text: string
  try {
    text = await readFile(join(directory, FILE), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return schema.parse(JSON.parse(text))
  } catch (cause) {
    throw new HearthError('internal', `${directory}/${FILE} was damaged by a crash`, { cause })
  }
}

/**
 * Null also when a crash has damaged it: a host that lost its power may have kept names without content. Nothing of such a machine runs, and
 * the rest of it is swept by name.
 */
export async function readWholeResources(directory: string): Promise<MachineResources | null> {
  return await readResources(directory).catch((error: unknown) => {
    if (HearthError.isInstance(error)) return null
    throw error
  })
}

/** Gives everything back. Every step is safe to repeat; the directory goes last, because it is the record of the rest. That of a sandbox that sleeps keeps its record. */
export async function freeResources(
  id: SandboxId,
  directory: string,
  resources: MachineResources | null,
  services: { readonly cgroups: Cgroups; readonly disks: DiskAreas; readonly ids: IdRanges },
): Promise<void> {
  if (resources !== null) {
    await services.cgroups.remove(resources.cgroup)
    await services.disks.remove(resources.disk)
    if (resources.idBase !== null) await services.ids.free(resources.idBase, id)
  }
  if (!isAsleep(directory)) await services.disks.forget(id)
  await clearDirectory(directory)
}
