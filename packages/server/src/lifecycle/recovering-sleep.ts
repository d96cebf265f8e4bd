import { HearthError } from '@hearth/contract'
import type { Operation } from '../state/index.ts'
import type { Context } from './context.ts'
import type { HibernateRequest } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { endWithout } from './machine-end.ts'
import { takeUp } from './taking-up.ts'
import { settleOperation } from './transitions.ts'

/**
 * A hibernation or a wake that was under way when the server died: the engine's own record says whether the sandbox sleeps. What it left of
 * a machine is freed, and a hibernation that was not finished did not happen. Called in turn.
 */
export async function settleSleep(context: Context, live: LiveSandbox, operation: Operation): Promise<void> {
  const isWake = operation.kind === 'wake'
  // Also what is left of the machine of one that sleeps.
  await context.hearth.sweep()
  const found = (await context.hearth.survey()).find(({ id }) => id === live.record.id)
  if (found?.sleep) {
    live.record = await settleOperation(context, live.record, {
      operation,
      end: isWake ? 'undone' : 'done',
      states: ['hibernated'],
      patch: { hibernation: found.sleep },
      ...(isWake ? {} : { event: { type: 'sandbox.hibernated', data: { ...found.sleep } } }),
    })
    return live.watchDeadline()
  }
  // Left to the operation's next claim.
  if (found?.unclear === true) throw new HearthError('internal', `what sandbox ${live.record.id} is cannot be told now`)
  if (found?.alive !== true && live.machine === null) {
    await endWithout(context, live, 'stopped', 'gone: it ended while the server was away')
    await context.store.operations.finish(operation, 'undone')
    return
  }
  const to = isWake ? 'running' : (operation.request as HibernateRequest).from
  const memory = live.record.hibernation?.memory === true
  live.record = await settleOperation(context, live.record, {
    operation,
    end: isWake ? 'done' : 'undone',
    states: [to],
    patch: { hibernation: null },
    ...(isWake ? { event: { type: 'sandbox.woken', data: { memory } } } : {}),
  })
  await takeUp(context, live)
  live.watchIdleness()
}
