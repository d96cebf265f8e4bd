import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { sandboxIdSchema, type SandboxId } from '@hearth/contract'
import { freeResources, readWholeResources } from '../drivers/machine-resources.ts'
import type { LinkServices } from '../drivers/link-driver.ts'
import type { HostPaths } from '../host/host.ts'
import { attempt } from '../host/in-background.ts'
import { endKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { findRecord } from '../sandbox/sandbox-record.ts'

/** Ends every machine that waited for a process that is gone: nobody else can claim it. The names of those that stay. */
export async function sweepPool(paths: HostPaths, services: LinkServices): Promise<string[]> {
  const stay: string[] = []
  for (const name of await waitingNames(paths)) {
    const id = sandboxIdSchema.safeParse(name).data
    if (id === undefined) continue
    const sweepOne = async (): Promise<void> => {
      if (await isWaiting(id, join(paths.pool, name), services)) stay.push(name)
    }
    const swept = await attempt(`sweeping the machine ${name} of the pool`, sweepOne, services.onProblem)
    if (!swept) stay.push(name)
  }
  return stay
}

/** Whether it waits for a process that lives; otherwise it is removed. */
async function isWaiting(id: SandboxId, directory: string, services: LinkServices): Promise<boolean> {
  const found = await findRecord(directory)
  if (found.kind === 'unknown') throw found.error
  // What a crash has damaged names nobody, and nothing runs before there is a record: whoever is just making one tries again.
  const record = found.kind === 'record' ? found.record : null
  if (record !== null && isAlive(record.owner)) return true
  await removeWaiting(id, record?.info.id ?? id, directory, services)
  return false
}

/** The names of all machines that wait, of whichever process. What the host holds for them has the same. */
export async function waitingNames(paths: HostPaths): Promise<string[]> {
  return await readdir(paths.pool).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** In the middle of a claim some of what it holds has the name of the sandbox already. */
async function removeWaiting(
  id: SandboxId,
  sandbox: SandboxId,
  directory: string,
  services: LinkServices,
): Promise<void> {
  await endKeeper(directory)
  const resources = await readWholeResources(directory)
  if (resources !== null && sandbox !== id) {
    const { disk, idBase } = resources
    if (disk.kind === 'quota') await services.disks.remove({ ...disk, path: join(disk.path, '..', sandbox) })
    if (idBase !== null) await services.ids.free(idBase, sandbox)
  }
  await freeResources(id, directory, resources, services)
}
