import { HearthError } from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import type { SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { notFound, requireAlive } from './view.ts'
import { isVisible } from './within-grant.ts'

/** The row of a sandbox that is the caller's and lives here; also of one that has ended. */
export async function findRecord(context: Context, caller: Caller, id: string): Promise<SandboxRecord> {
  const { live, store, hostId } = context
  const known = live.get(id)
  if (known !== null) {
    if (!isVisible(caller, known.record) || known.record.state === 'deleted') throw notFound(id)
    return known.record
  }
  const record = await store.sandboxes.get(id, caller.tenantId)
  if (!isVisible(caller, record)) throw notFound(id)
  if (record.hostId !== hostId) throw new HearthError('conflict', `sandbox ${id} lives on another host`)
  return record
}

/** One that has a machine. */
export async function findLive(context: Context, caller: Caller, id: string): Promise<LiveSandbox> {
  const record = await findRecord(context, caller, id)
  requireAlive(record)
  return context.live.ensure(record)
}
