import { HearthError } from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import { requireHoldings } from '../state/index.ts'
import type { Context } from './context.ts'
import { moveDeadline } from './hibernating.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { eventOf } from './transitions.ts'
import { requireLifetimeWithin } from './within-grant.ts'

/** Moves the deadline of a sandbox, within what its holder may have. Called in turn. */
export async function renewSandbox(context: Context, live: LiveSandbox, caller: Caller, ttlMs: number): Promise<void> {
  const { record } = live
  if (record.persistent) {
    throw new HearthError('invalid_state', `sandbox ${record.id} is persistent and has no deadline to move`)
  }
  const expiresAt = Date.now() + ttlMs
  requireLifetimeWithin(caller, record.createdAt, expiresAt)
  live.record = await context.store.transaction(async (session) => {
    if (record.holder !== null) await session.tenants.lock(record.tenantId)
    const facts = { expiresAt: new Date(expiresAt).toISOString(), state: record.state, request: caller.requestId }
    await session.events.append(eventOf(record, 'sandbox.renewed', facts))
    const renewed = await session.sandboxes.update(record, { expiresAt })
    if (record.holder !== null) await requireHoldings(session, record.holder)
    return renewed
  })
  context.step('renew:written')
  await moveDeadline(context, live, expiresAt)
}
