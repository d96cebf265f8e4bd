import { HearthError } from '@hearth/contract'
import { findExits } from '../record/find-exits.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'

/** Those that are being asked: one that does not answer is not asked again meanwhile. */
const asked = new WeakSet<LiveSandbox>()

/** Records the ends of commands that nobody waits for, in all sandboxes that are awake. */
export async function recordExits(context: Context): Promise<void> {
  await Promise.all([...context.live].map((live) => recordExitsOf(context, live)))
}

async function recordExitsOf(context: Context, live: LiveSandbox): Promise<void> {
  const { machine, record } = live
  if (machine === null || record.state !== 'running' || machine.paused || asked.has(live)) return
  asked.add(live)
  try {
    await findExits(context.store, machine, context.records.of(record.id))
  } catch (error) {
    // It ended or was paused in this moment; what is not found out now is asked again.
    if (!HearthError.isInstance(error)) context.report(`the commands of ${record.id}`, error)
  } finally {
    asked.delete(live)
  }
}
