import { HearthError } from '@hearth/contract'
import type { Operation, SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { finishCreate, undoCreate } from './creating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { endWithout } from './machine-end.ts'
import { COPY_RECOVERIES } from './recovering-copies.ts'
import { settleSleep } from './recovering-sleep.ts'
import { finishRemoval } from './removing.ts'
import { takeUp } from './taking-up.ts'
import { settleOperation } from './transitions.ts'

const CLAIMED_AT_ONCE = 32
/** A create that has ended the server as often as this is not tried again. */
const CREATE_ATTEMPTS = 3

/**
 * Takes what nobody holds any more, since a former life of this server died in the middle of it. When this resolves each of them
 * has its turn; `finished` when all are finished or undone.
 */
export async function beginRecovery(context: Context): Promise<{ readonly finished: Promise<void> }> {
  const recoveries: Promise<unknown>[] = []
  for (;;) {
    const { hostId, leaseMs } = context
    const claim = { owner: hostId, hostId, leaseMs, limit: CLAIMED_AT_ONCE }
    const claimed = await context.store.operations.claim(claim)
    if (claimed.length > 0) context.step('recovery:claimed')
    for (const operation of claimed) {
      const { finished } = await recover(context, operation)
      recoveries.push(finished.catch((error: unknown) => context.report(`recovery of ${operation.id}`, error)))
    }
    if (claimed.length < CLAIMED_AT_ONCE) return { finished: Promise.all(recoveries).then(() => undefined) }
  }
}

async function recover(context: Context, operation: Operation): Promise<{ readonly finished: Promise<unknown> }> {
  const { operations, sandboxes } = context.store
  const record = operation.sandboxId === null ? null : await sandboxes.find(operation.sandboxId)
  const copy = COPY_RECOVERIES[operation.kind]
  if (copy !== undefined) return await copy(context, record === null ? null : context.live.ensure(record), operation)
  if (/^(repository|workspace)\./.test(operation.kind))
    return { finished: context.workspaces.workspaces.recover(operation) }
  if (record === null)
    return { finished: operations.finish(operation, operation.kind === 'delete' ? 'done' : 'undone') }
  const live = context.live.ensure(record)
  if (operation.kind === 'create') return { finished: recoverCreate(context, live, operation) }
  return { finished: live.inTurn(() => settle(context, live, operation)) }
}

/** Who sent a key will ask again and gets the sandbox; without one nobody knows of it, and it goes. */
async function recoverCreate(context: Context, live: LiveSandbox, operation: Operation): Promise<void> {
  if (live.record.state !== 'creating') {
    // Somebody was faster.
    await context.store.operations.finish(operation, live.record.state === 'running' ? 'done' : 'undone')
    return
  }
  const again = operation.idempotencyKey !== null && operation.attempts <= CREATE_ATTEMPTS
  if (!again) {
    const cause = new Error('the server ended while the sandbox was made')
    await live.inTurn(() => undoCreate(context, live, operation, 'undone', cause))
    return
  }
  // What was started may lack its limits and its policy: it is never taken over, but made anew.
  const prepare = async (): Promise<void> => {
    await context.hearth.discard(live.record.id)
    context.step('recovery:discarded')
  }
  await finishCreate(context, live, operation, { prepare })
}

async function settle(context: Context, live: LiveSandbox, operation: Operation): Promise<void> {
  const { record } = live
  if (operation.kind === 'delete' && record.state === 'deleting') {
    return await finishRemoval(context, live, operation, 'deleted')
  }
  if (operation.kind === 'stop' && record.state === 'stopping') {
    return await finishRemoval(context, live, operation, 'stopped')
  }
  if (operation.kind === 'pause' && record.state === 'pausing')
    return await finishMove(context, live, operation, 'paused')
  if (operation.kind === 'resume' && record.state === 'resuming')
    return await finishMove(context, live, operation, 'running')
  if (record.state === (operation.kind === 'wake' ? 'waking' : 'hibernating'))
    return await settleSleep(context, live, operation)
  await context.store.operations.finish(operation, 'undone')
}

/** Taking a machine up says again what it was told, so that it is certain. */
async function finishMove(
  context: Context,
  live: LiveSandbox,
  operation: Operation,
  to: 'paused' | 'running',
): Promise<void> {
  const alive = await isThere(context, live.record)
  if (!alive) {
    await endWithout(context, live, 'stopped', 'gone: it ended while the server was away')
    await context.store.operations.finish(operation, 'undone')
    return
  }
  await takeUp(context, live)
  const event = { type: to === 'paused' ? 'sandbox.paused' : 'sandbox.resumed' }
  live.record = await settleOperation(context, live.record, { operation, end: 'done', states: [to], event })
  live.watchIdleness()
}

async function isThere(context: Context, record: SandboxRecord): Promise<boolean> {
  const found = (await context.hearth.survey()).find(({ id }) => id === record.id)
  if (found?.unclear === true) throw new HearthError('internal', `what sandbox ${record.id} is cannot be told now`)
  return found?.alive ?? false
}
