import { HearthError } from '@hearth/contract'
import type { Capabilities } from '../drivers/driver.ts'

/** Where a command cannot be held to a policy of its own it is not started: it would reach more than was said. */
export function requireNarrowing({ narrowing }: Capabilities, driver: string): void {
  if (narrowing) return
  throw new HearthError('capability_unsupported', `${driver} cannot hold a command to a policy of its own`, {
    suggestion: 'Start the command in a sandbox of its own with that policy, or use another rung.',
  })
}
