import { HearthError } from '@hearth/contract'
import type { Capabilities } from '../drivers/driver.ts'
import type { Machine } from '../machine/machine.ts'

/** The watch of a machine's processes, where its rung can tell of them. */
export function processWatcher(
  machine: Machine,
  { processRecord }: Capabilities,
  driver: string,
  requireRunning: () => void,
): Machine['watchProcesses'] {
  return async () => {
    requireRunning()
    if (processRecord) return await machine.watchProcesses()
    throw new HearthError('capability_unsupported', `${driver} cannot tell which processes are started`)
  }
}
