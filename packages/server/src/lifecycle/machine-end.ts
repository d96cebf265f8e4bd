import type { EmbeddedSandbox, MachineEnd } from '@hearth/engine'
import { removeItsVolumes } from '../volumes/removing-volumes.ts'
import { canTransition } from '../state/index.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { beginRecording } from './recording.ts'
import { changeState } from './transitions.ts'

/** The engine's deadline may go off a moment before the clock shows it. */
const CLOCK_SLACK_MS = 250

/** From now on the machine is this sandbox's, and its end will be written down. */
export async function attachMachine(context: Context, live: LiveSandbox, machine: EmbeddedSandbox): Promise<void> {
  live.machine = machine
  live.watchIdleness()
  void machine.ended
    .then((end) => live.inTurn(() => noteEnd(context, live, machine, end)))
    .catch((error: unknown) => context.report(`the end of ${live.record.id}`, error))
  await beginRecording(context, live, machine)
}

/** A machine that ended by itself, or at its deadline. One that we ended on purpose has another state by now. */
async function noteEnd(context: Context, live: LiveSandbox, machine: EmbeddedSandbox, end: MachineEnd): Promise<void> {
  if (live.machine !== machine) return
  live.machine = null
  await endWithout(
    context,
    live,
    end.reason === 'protocol_violation' ? 'failed' : 'stopped',
    `${end.reason}: ${end.detail}`,
  )
}

/** Writes down that a sandbox has no machine any more. Called in turn. */
export async function endWithout(
  context: Context,
  live: LiveSandbox,
  to: 'stopped' | 'failed',
  detail: string,
): Promise<void> {
  const { record } = live
  if (!canTransition(record.state, to) || record.state === 'stopping') return
  const expired = record.expiresAt !== null && Date.now() >= record.expiresAt - CLOCK_SLACK_MS
  const reason = expired ? 'expired' : detail
  const patch = { endedAt: Date.now(), endReason: reason }
  live.record = await changeState(context, record, to, patch, expired ? 'sandbox.expired' : `sandbox.${to}`, { reason })
  context.live.remove(live)
  await removeItsVolumes(context, live.record)
}
