import { HearthError, type SnapshotId } from '@hearth/contract'
import { ALIVE_STATES, type SnapshotRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { snapshotNotFound } from './finding-snapshots.ts'
import { removeFromHost } from './snapshotting.ts'

/** Removes one that is ready. `snapshot_in_use` while something was made of it. */
export async function removeSnapshot(context: Context, record: SnapshotRecord): Promise<void> {
  await requireUnused(context, record.tenantId, record.id)
  if (!(await context.store.snapshots.retire(record.id))) throw snapshotNotFound(record.id)
  context.snapshotsInWork.add(record.id)
  try {
    context.step('remove:begun')
    await finishRemovingSnapshot(context, record)
  } finally {
    context.snapshotsInWork.delete(record.id)
  }
}

/** A sandbox that was made of it still lives. Also of the point of a fork, which is nobody's to remove. */
export async function requireUnused(context: Context, tenantId: string, id: SnapshotId): Promise<void> {
  const filter = { tenantId, originId: id, states: ALIVE_STATES, limit: 1 }
  const [user] = (await context.store.sandboxes.list(filter)).items
  if (user === undefined) return
  throw new HearthError('snapshot_in_use', `sandbox ${user.id} was made of snapshot ${id}`, {
    context: { snapshot: id, sandbox: user.id },
  })
}

/** The second half, which a restarted server repeats. One that cannot be removed after all is there again. */
async function finishRemovingSnapshot(context: Context, record: SnapshotRecord): Promise<void> {
  const { id, tenantId, sandboxId, name } = record
  try {
    await removeFromHost(context, id)
  } catch (error) {
    await context.store.snapshots.restore(id)
    throw error
  }
  context.step('remove:freed')
  await context.store.transaction(async (session) => {
    await session.snapshots.forget(id)
    await session.events.append({ tenantId, sandboxId, type: 'snapshot.removed', data: { snapshot: id, name } })
  })
}

/** What the last life of this server left of removals and imports. */
export async function settleSnapshots(context: Context): Promise<void> {
  for (const record of await context.store.snapshots.ofHost(context.hostId, ['deleting', 'importing'])) {
    if (context.snapshotsInWork.has(record.id)) continue
    try {
      if (record.state === 'deleting') await finishRemovingSnapshot(context, record)
      else await forgetImport(context, record.id)
    } catch (error) {
      context.report(`the removal of ${record.id}`, error)
    }
  }
}

/** Nobody was told of it. */
export async function forgetImport(context: Context, id: SnapshotId): Promise<void> {
  await removeFromHost(context, id)
  await context.store.snapshots.forget(id)
}
