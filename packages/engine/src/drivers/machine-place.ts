import { renameSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import type { SandboxId } from '@hearth/contract'
import type { IdRanges } from '../host/id-ranges.ts'
import { writeResources, type MachineResources } from './machine-resources.ts'

/** Which sandbox a machine is, where its files lie, and what the host holds for it. It changes when an unclaimed machine is claimed, and else never. */
export interface MachinePlace {
  id: SandboxId
  directory: string
  resources: MachineResources
}

/**
 * Everything that has the name of the machine gets the sandbox's: area, ids, directory. The directory comes last, and with it the machine is
 * the sandbox's in one step. Synchronous, so that nobody in this process sees it half moved. `place` is true after each step.
 */
export function movePlace(place: MachinePlace, to: Pick<MachinePlace, 'id' | 'directory'>, ids: IdRanges): void {
  const { disk, idBase } = place.resources
  const path =
    disk.kind === 'quota' ? join(dirname(disk.path), to.id) : join(to.directory, relative(place.directory, disk.path))
  if (disk.kind === 'quota') renameSync(disk.path, path)
  place.resources = { ...place.resources, disk: { ...disk, path } }
  if (idBase !== null) ids.give(idBase, to.id)
  place.id = to.id
  writeResources(place.directory, place.resources)
  // Everybody who holds something in it has it open, and follows: the keeper its working directory, the mounts what they show.
  renameSync(place.directory, to.directory)
  place.directory = to.directory
}
