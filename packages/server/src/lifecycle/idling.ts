import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { pauseSandbox } from './pausing.ts'
import { stopSandbox } from './removing.ts'

/** Nobody has used it for its idle time. What somebody began to use meanwhile stays as it is. */
export async function becomeIdle(context: Context, live: LiveSandbox): Promise<void> {
  try {
    await live.inTurn(async () => {
      if (!live.isIdle) return
      if (live.record.idleAction === 'kill') await stopSandbox(context, live, 'idle')
      else await pauseSandbox(context, live, 'idle')
    })
  } catch (error) {
    context.report(`the idle time of ${live.record.id}`, error)
    // Tried again after another idle time.
    live.use()[Symbol.dispose]()
  }
}
