import { BOUNDS, HearthError, type SandboxView } from '@hearth/contract'
import type { Caller, ControlPlane } from '../../../control-plane.ts'
import { markOf } from '../mark.ts'
import { isPaused, PAUSED_MS } from './views.ts'

/** Where memory can be written down, a sandbox that sleeps costs nothing; elsewhere its processes are stopped where they are. */
const WITH_MEMORY = new Set(['gvisor', 'microvm'])

/** E2B's pause. Without memory the disk alone is kept. Its deadline is moved as far as it can be, since the clock goes on meanwhile. */
export async function putToSleep(
  plane: ControlPlane,
  caller: Caller,
  view: SandboxView,
  keepMemory: boolean,
): Promise<void> {
  if (!keepMemory) await plane.sleep.hibernate(caller, view.id, { memory: 'none' })
  else if (!WITH_MEMORY.has(view.rung) || !(await hibernated(plane, caller, view))) await plane.pause(caller, view.id)
  if (view.expiresAt !== null) await plane.renew(caller, view.id, BOUNDS.maximumTtlMs)
}

/** False when something in it cannot be written down just now. */
async function hibernated(plane: ControlPlane, caller: Caller, { id }: SandboxView): Promise<boolean> {
  try {
    await plane.sleep.hibernate(caller, id, { memory: 'required' })
    return true
  } catch (error) {
    const unable = ['memory_unsupported', 'capability_unsupported']
    if (HearthError.isInstance(error) && unable.includes(error.code)) return false
    throw error
  }
}

/** One that a request woke, or another API, runs for at least this long before its time is over again. */
const RESUMED_MS = 300_000

/** How long it runs that was woken without a time of its own: as long as it was given when it was made. */
export function resumedMs(view: Pick<SandboxView, 'metadata'>): number {
  return Math.max(RESUMED_MS, (markOf(view)?.timeout ?? 0) * 1000)
}

/** E2B's resume; without memory it boots anew from its disk. */
export async function wakeUp(
  plane: ControlPlane,
  caller: Caller,
  view: SandboxView,
  keepMemory: boolean,
): Promise<SandboxView> {
  if (!isPaused(view)) return view
  if (keepMemory) return await plane.resume(caller, view.id)
  if (view.state !== 'hibernated') await plane.sleep.hibernate(caller, view.id, { memory: 'none' })
  return await plane.sleep.wake(caller, view.id, { memory: 'none' })
}

/** Moves its end to this long from now. */
export async function endAfter(
  plane: ControlPlane,
  caller: Caller,
  view: SandboxView,
  milliseconds: number,
): Promise<SandboxView> {
  if (view.expiresAt === null) return view
  const later = markOf(view)?.autoPause === true ? PAUSED_MS : 0
  // A sandbox has a second at least; one that is to end now has that.
  return await plane.renew(caller, view.id, Math.max(1000, milliseconds) + later)
}
