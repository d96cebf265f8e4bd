import { HearthError } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { attachMachine, endWithout } from './machine-end.ts'
import { agreeOnPolicy } from './policy-agreement.ts'
import { requireAlive } from './view.ts'

/** The deadline in the engine and the one in the row may differ by what a crash came between. */
const DEADLINE_SLACK_MS = 1000

/** The machine as it is. After a restart of the server it is taken up again first. Called in turn. */
export async function takeUp(context: Context, live: LiveSandbox): Promise<EmbeddedSandbox> {
  if (live.machine !== null) return live.machine
  const { id, state, expiresAt } = live.record
  let machine: EmbeddedSandbox
  try {
    machine = await context.hearth.adopt(id, { paused: state === 'paused' || state === 'pausing' })
  } catch (error) {
    if (!HearthError.isInstance(error)) throw error
    if (error.code !== 'sandbox_ended' && error.code !== 'sandbox_not_found') throw error
    await context.hearth.discard(id)
    await endWithout(context, live, 'stopped', `gone: ${error.message}`)
    requireAlive(live.record)
    throw error
  }
  await attachMachine(context, live, machine)
  if (expiresAt !== null && Math.abs(machine.info.expiresAt.getTime() - expiresAt) > DEADLINE_SLACK_MS) {
    await machine.expireAt(new Date(expiresAt))
  }
  if (!machine.paused) await agreeOnPolicy(machine, live.record)
  return machine
}
