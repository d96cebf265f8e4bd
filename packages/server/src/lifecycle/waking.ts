import type { EmbeddedSandbox } from '@hearth/engine'
import type { Context } from './context.ts'
import { wakeSandbox } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { resumeSandbox } from './pausing.ts'
import { agreeOnPolicy } from './policy-agreement.ts'
import { takeUp } from './taking-up.ts'
import { requireAlive } from './view.ts'

/** The machine, awake. At once where it is. */
export function awake(context: Context, live: LiveSandbox): EmbeddedSandbox | Promise<EmbeddedSandbox> {
  if (live.record.state === 'running' && live.machine !== null) return live.machine
  return live.woken(() => wakeInTurn(context, live))
}

/** The same for who has the turn already. */
export async function wakeInTurn(context: Context, live: LiveSandbox): Promise<EmbeddedSandbox> {
  requireAlive(live.record)
  if (live.record.state === 'hibernated') return await wakeSandbox(context, live)
  const machine = await takeUp(context, live)
  if (live.record.state !== 'running') await resumeSandbox(context, live)
  await agreeOnPolicy(machine, live.record)
  return machine
}
