import { HearthError, type SandboxId, type VolumeId } from '@hearth/contract'
import type { Context } from '../lifecycle/context.ts'
import { isAlive, type SandboxRecord, type VolumeRecord } from '../state/index.ts'
import { volumeNotFound } from './finding-volumes.ts'

/** Removes one with all that is in it. `volume_in_use` while a sandbox has it. */
export async function removeVolume(context: Context, record: VolumeRecord): Promise<void> {
  const { id, state } = record
  // Before anything is written: whoever uses it sees nothing of the attempt.
  const info = await context.hearth.volumes.info(id)
  const holder = info?.attachedTo ?? info?.readBy[0]
  if (holder !== undefined)
    throw new HearthError('volume_in_use', `volume ${id} is attached to sandbox ${holder}`, {
      context: { volume: id, holder },
    })
  if (!(await context.store.volumes.move(id, state, 'deleting'))) throw volumeNotFound(id)
  context.volumesInWork.add(id)
  try {
    context.step('unvolume:begun')
    await finishRemovingVolume(context, record)
  } finally {
    context.volumesInWork.delete(id)
  }
}

/** The second half, which a restarted server repeats. One that somebody got hold of meanwhile is there again. */
async function finishRemovingVolume(context: Context, { id, tenantId, name }: VolumeRecord): Promise<void> {
  try {
    await context.hearth.volumes.discard(id)
  } catch (error) {
    await context.store.volumes.move(id, 'deleting', 'ready')
    throw error
  }
  context.step('unvolume:freed')
  await context.store.transaction(async (session) => {
    await session.volumes.forget(id)
    await session.events.append({ tenantId, sandboxId: null, type: 'volume.removed', data: { volume: id, name } })
  })
}

/** Removes what goes with a sandbox that has just ended. What cannot be removed now is removed in the next round. */
export async function removeItsVolumes(context: Context, { id, spec }: SandboxRecord): Promise<void> {
  if ((spec.volumes ?? []).length === 0) return
  for (const record of await context.store.volumes.ofSandbox(id)) await removeEnded(context, record)
}

async function removeEnded(context: Context, record: VolumeRecord): Promise<void> {
  // A workspace removes its own.
  if (record.workspaceId !== null || record.state === 'deleting' || context.volumesInWork.has(record.id)) return
  try {
    await removeVolume(context, record)
  } catch (error) {
    // What is left of its sandbox goes first, and the next round removes it; or another round removes it already.
    if (HearthError.isInstance(error) && (error.code === 'volume_in_use' || error.code === 'volume_not_found')) return
    context.report(`the removal of ${record.id}`, error)
  }
}

/** Ends what the last life of this server left of removals, and removes those whose sandboxes have ended. */
export async function settleVolumes(context: Context): Promise<void> {
  for (const record of await context.store.volumes.ofHost(context.hostId)) {
    if (context.volumesInWork.has(record.id) || record.workspaceId !== null) continue
    if (record.state === 'deleting') await finishLeft(context, record)
    else if (record.sandboxId !== null && !(await isThere(context, record.sandboxId)))
      await removeEnded(context, record)
  }
}

async function finishLeft(context: Context, record: VolumeRecord): Promise<void> {
  try {
    await finishRemovingVolume(context, record)
  } catch (error) {
    context.report(`the removal of ${record.id}`, error)
  }
}

async function isThere(context: Context, sandboxId: SandboxId): Promise<boolean> {
  const record = context.live.get(sandboxId)?.record ?? (await context.store.sandboxes.find(sandboxId))
  return record !== null && isAlive(record.state)
}

/** Nothing of these is left on this host, whether they were whole or not. */
export async function discardVolumes(context: Context, ids: readonly VolumeId[]): Promise<void> {
  for (const id of ids) await context.hearth.volumes.discard(id)
}
