import { HearthError } from '@hearth/contract'
import type { Context } from './context.ts'
import { endAsleep, hibernateSandbox } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { pauseSandbox } from './pausing.ts'
import { stopSandbox } from './removing.ts'
import { takeUp } from './taking-up.ts'

/** Nobody has used it for its idle time. What somebody began to use meanwhile stays as it is. */
export async function becomeIdle(context: Context, live: LiveSandbox): Promise<void> {
  try {
    await live.inTurn(async () => {
      if (!live.isIdle) return
      const { idleAction } = live.record
      if (idleAction === 'kill') await stopSandbox(context, live, 'idle')
      else if (idleAction === 'hibernate') await fallAsleep(context, live)
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

/** Nobody asked for it now, so no process may be lost: where they cannot sleep they stand still. */
async function fallAsleep(context: Context, live: LiveSandbox): Promise<void> {
  const machine = await takeUp(context, live)
  const { memory, processes } = machine.capabilities
  let obstacle = `processes run in it, and ${live.record.driver} captures files only`
  if (memory) {
    const refusal = await refusalOf(() => hibernateSandbox(context, live, 'idle', 'required'))
    if (refusal === null) return
    obstacle = refusal
  }
  const running = processes ? (await machine.stats()).processes : 0
  if (running === 0) await hibernateSandbox(context, live, 'idle')
  else await pauseSandbox(context, live, 'idle', obstacle)
}

/** Why the memory was not captured, or null when it was. */
async function refusalOf(hibernate: () => Promise<void>): Promise<string | null> {
  try {
    await hibernate()
    return null
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'memory_unsupported') return error.message
    throw error
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
