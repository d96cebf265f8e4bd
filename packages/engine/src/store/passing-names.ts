import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { isAlive, ownIdentity } from '../host/process-identity.ts'
import { runStore } from './store-helper.ts'

let made = 0

/** A name in a directory of the store that nothing else has. It says whose it is: what this process leaves is swept. */
export function passingName(): string {
  const { pid, startTime } = ownIdentity()
  return `${pid}.${startTime}.${++made}`
}

/** Removes what processes have left there that have ended. */
export async function sweepPassing(paths: Pick<HostPaths, 'guest'>, directory: string): Promise<void> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const failures: unknown[] = []
  for (const name of names) {
    const [pid = '', startTime = ''] = name.split('.')
    if (isAlive({ pid: Number(pid), startTime })) continue
    await runStore(paths.guest, 'remove', join(directory, name)).catch((error: unknown) => failures.push(error))
  }
  if (failures.length > 0) throw new AggregateError(failures, `not all that is left in ${directory} could be removed`)
}
