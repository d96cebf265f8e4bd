import { HearthError } from '@hearth/contract'
import type { Context } from './context.ts'
import { endAsleep, hibernateSandbox } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { pauseSandbox } from './pausing.ts'
import { stopSandbox } from './removing.ts'

/** Nobody has used it for its idle time. What somebody began to use meanwhile stays as it is. */
export async function becomeIdle(context: Context, live: LiveSandbox): Promise<void> {
  try {
    await live.inTurn(async () => {
      if (!live.isIdle) return
      const { idleAction } = live.record
      if (idleAction === 'kill') await stopSandbox(context, live, 'idle')
      else if (idleAction === 'hibernate') await hibernateSandbox(context, live, 'idle')
      else await pauseSandbox(context, live, 'idle')
    })
  } catch (error) {
    // Somebody began to use it.
    if (HearthError.isInstance(error) && error.code === 'conflict' && live.inUse) return
    context.report(`the idle time of ${live.record.id}`, error)
    // Tried again after another idle time.
    live.use()[Symbol.dispose]()
  }
}

/** The deadline of one that sleeps. */
export async function expireAsleep(context: Context, live: LiveSandbox): Promise<void> {
  try {
    await live.inTurn(() => endAsleep(context, live))
  } catch (error) {
    // The next round tries again.
    context.report(`the deadline of ${live.record.id}`, error)
  }
}
