import { setTimeout as sleep } from 'node:timers/promises'
import type { Sandbox } from '@hearth/contract'
import { isLinkLost } from './run-tool.ts'

/** How long a sandbox that cannot be reached is waited for, for example while its server is started anew. */
const PATIENCE_MS = 120_000
const DELAY_MS = 250

/** Returns when the sandbox answers. Throws what is wrong when it does not, or when the run is cut short meanwhile. */
export async function reach(sandbox: Sandbox, signal: AbortSignal): Promise<void> {
  const until = Date.now() + PATIENCE_MS
  for (;;) {
    try {
      await sandbox.processes()
      return
    } catch (error) {
      if (!isLinkLost(error) || signal.aborted || Date.now() > until) throw error
      await sleep(DELAY_MS)
    }
  }
}
