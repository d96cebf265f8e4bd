import type { Caller } from '../control-plane.ts'
import type { SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { livesElsewhere } from './silent-hosts.ts'
import { notFound, requireAlive } from './view.ts'
import { isVisible } from './within-grant.ts'

/** The row of a sandbox that is the caller's and lives here; also of one that has ended. */
export async function findRecord(context: Context, caller: Caller, id: string): Promise<SandboxRecord> {
  const record = await findAnywhere(context, caller, id)
  const { hostId } = context
  if (record.hostId !== hostId) throw livesElsewhere(record)
  return record
}

/** The same, also of one that lives on another host. */
export async function findAnywhere({ live, store }: Context, caller: Caller, id: string): Promise<SandboxRecord> {
  const record = live.get(id)?.record ?? (await store.sandboxes.get(id, caller.tenantId))
  if (!isVisible(caller, record) || record.state === 'deleted') throw notFound(id)
  return record
}

/** One that has a machine. */
export async function findLive(context: Context, caller: Caller, id: string): Promise<LiveSandbox> {
  const record = await findRecord(context, caller, id)
  requireAlive(record)
  return context.live.ensure(record)
}
