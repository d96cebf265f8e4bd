import { HearthError } from '@hearth/contract'
import { assertTransition } from '../state/index.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { beginRecording } from './recording.ts'
import { beginOperation, settleOperation } from './transitions.ts'
import { requireAlive } from './view.ts'
import { takeUp } from './taking-up.ts'

/** Called in turn. Does nothing to one that is paused. `reason`: why it does not hibernate, as was asked for. */
export async function pauseSandbox(
  context: Context,
  live: LiveSandbox,
  cause: 'request' | 'idle',
  reason?: string,
): Promise<void> {
  requireAlive(live.record)
  if (live.record.state === 'paused') return
  assertTransition(live.record.state, 'pausing')
  const machine = await takeUp(context, live)
  const { record, operation } = await beginOperation(context, live.record, 'pause', 'pausing')
  live.record = record
  context.step('pause:begun')
  try {
    if (cause === 'idle' && live.inUse) throw new HearthError('conflict', 'somebody began to use it')
    await machine.pause()
  } catch (error) {
    const undone = { operation, end: 'undone', states: ['running'], error: failure(error) } as const
    live.record = await settleOperation(context, record, undone)
    throw error
  }
  context.step('pause:frozen')
  const data = { cause, ...(reason === undefined ? {} : { reason }) }
  const event = { type: 'sandbox.paused', data }
  live.record = await settleOperation(context, record, { operation, end: 'done', states: ['paused'], event })
  context.step('pause:done')
}

/** Called in turn. Does nothing to one that runs. */
export async function resumeSandbox(context: Context, live: LiveSandbox): Promise<void> {
  requireAlive(live.record)
  if (live.record.state === 'running') return
  const machine = await takeUp(context, live)
  const { record, operation } = await beginOperation(context, live.record, 'resume', 'resuming')
  live.record = record
  context.step('resume:begun')
  try {
    await machine.resume()
  } catch (error) {
    const undone = { operation, end: 'undone', states: ['paused'], error: failure(error) } as const
    live.record = await settleOperation(context, record, undone)
    throw error
  }
  context.step('resume:thawed')
  const event = { type: 'sandbox.resumed' }
  live.record = await settleOperation(context, record, { operation, end: 'done', states: ['running'], event })
  await beginRecording(context, live, machine)
  live.watchIdleness()
  context.step('resume:done')
}

/** An error as an operation keeps it. */
export function failure(error: unknown): unknown {
  return HearthError.isInstance(error) ? error.toJSON() : { code: 'internal', message: String(error) }
}
