import { isAlive, type Operation, type Store } from '../state/index.ts'
import { removeItsVolumes } from '../volumes/removing-volumes.ts'
import type { Context } from './context.ts'
import { underLease } from './lease.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { failure } from './pausing.ts'
import { beginOperation, changeState, settleOperation } from './transitions.ts'
import { requireAlive } from './view.ts'

/** Why the server ends a sandbox: somebody asked for it, nobody used it, it has been shown for long enough since it ended, or the key that it was made with does not work any more. */
type RemovalReason = 'request' | 'idle' | 'retention' | 'grant'

/** After a removal that failed; doubled with each attempt. */
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

/** Ends a sandbox and removes it. Called in turn. */
export async function deleteSandbox(context: Context, live: LiveSandbox, reason: RemovalReason): Promise<void> {
  if (live.record.state === 'deleted') return
  if (live.record.state === 'deleting') return await repeatRemoval(context, live, 'deleted', reason)
  const { record, operation } = await beginOperation(context, live.record, 'delete', 'deleting', {
    request: { reason, ended: !isAlive(live.record.state) },
  })
  live.record = record
  context.step('delete:begun')
  await finishRemoval(context, live, operation, 'deleted')
}

/** Ends a sandbox; its row stays for a while and says why. Called in turn. Does nothing to one that has ended. */
export async function stopSandbox(context: Context, live: LiveSandbox, reason: RemovalReason): Promise<void> {
  if (live.record.state === 'stopped' || live.record.state === 'failed') return
  requireAlive(live.record)
  if (live.record.state === 'stopping') return await repeatRemoval(context, live, 'stopped', reason)
  const { record, operation } = await beginOperation(context, live.record, 'stop', 'stopping', { request: { reason } })
  live.record = record
  context.step('stop:begun')
  await finishRemoval(context, live, operation, 'stopped')
}

/** After an attempt that failed. Its operation will find that nothing is left to do. */
async function repeatRemoval(
  context: Context,
  live: LiveSandbox,
  to: 'deleted' | 'stopped',
  reason: RemovalReason,
): Promise<void> {
  const { record } = live
  await context.hearth.discard(record.id)
  const patch = { endedAt: Date.now(), endReason: reason }
  live.record = await changeState(context, record, to, patch, `sandbox.${to}`, { reason })
  context.live.remove(live)
  await removeItsVolumes(context, record)
}

/** The second half, which a restarted server repeats until nothing is left. */
export async function finishRemoval(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  to: 'deleted' | 'stopped',
): Promise<void> {
  const kind = to === 'deleted' ? 'delete' : 'stop'
  const { reason, ended = false } = operation.request as { readonly reason: RemovalReason; readonly ended?: boolean }
  const { record } = live
  live.machine = null
  live.retire()
  try {
    await underLease(context, operation, () => context.hearth.discard(record.id))
  } catch (error) {
    const delayMs = Math.min(RETRY_MS * 2 ** (operation.attempts - 1), LONGEST_RETRY_MS)
    await context.store.operations.release(operation, { delayMs, error: failure(error) })
    throw error
  }
  context.step(`${kind}:freed`)
  // What happened in it comes before its end.
  await context.records.flush()
  // One that had ended before is told to have ended only once.
  const event = { type: `sandbox.${to}`, data: { reason, ...(ended ? { ended } : {}) } }
  const patch = { endedAt: record.endedAt ?? Date.now(), endReason: reason }
  live.record = await settleOperation(context, record, { operation, end: 'done', states: [to], patch, event })
  context.live.remove(live)
  await removeItsVolumes(context, record)
  context.step(`${kind}:done`)
}

/** True when the sandbox was this tenant's, though its row is gone: its events tell. */
export async function wasDeleted(store: Store, tenantId: string, sandboxId: string): Promise<boolean> {
  const { events } = await store.events.page({ tenantId, sandboxId, limit: 1 })
  return events.length > 0
}
