import { BOUNDS, HearthError, newVolumeId, type CreateVolume, type VolumeId } from '@hearth/contract'
import type { KeyedCall } from '../control-plane.ts'
import type { Context } from '../lifecycle/context.ts'
import { underLease } from '../lifecycle/lease.ts'
import { failure } from '../lifecycle/pausing.ts'
import { outcomeOf, unlessAborted } from '../lifecycle/replaying.ts'
import { trackWork } from '../lifecycle/under-way.ts'
import { volumeWithinQuota, type Operation, type VolumeRecord } from '../state/index.ts'

/** What has ended the server as often as this is not tried again. */
const ATTEMPTS = 3
/** An operation of another host is looked at again after this long. */
const ELSEWHERE_MS = 60_000

/** Which volume an operation makes. */
function volumeOf(operation: Operation): VolumeId {
  return (operation.result as { readonly volume: VolumeId }).volume
}

/** Makes an empty one. Who has a key comes back for it; for anybody else it is made to the end all the same, which takes no time. */
export async function makeVolume(
  context: Context,
  tenantId: string,
  request: CreateVolume,
  { idempotencyKey, signal }: KeyedCall,
): Promise<VolumeRecord> {
  const { operation, created } = await beginVolume(context, tenantId, request, idempotencyKey)
  if (created) await unlessAborted(trackWork(context, operation, finishVolume(context, operation)), signal)
  const record = await context.store.volumes.get(volumeOf(await outcomeOf(context, operation, signal)))
  if (record === null) throw new HearthError('conflict', 'the volume that this key made was removed')
  return record
}

/** Writes the operation and the row at once, within the quota. */
async function beginVolume(
  { store, hostId, leaseMs }: Context,
  tenantId: string,
  request: CreateVolume,
  idempotencyKey: string | null,
): Promise<{ readonly operation: Operation; readonly created: boolean }> {
  return await store.transaction(async (session) => {
    const claim = { owner: hostId, leaseMs }
    const begun = await session.operations.begin({ tenantId, kind: 'volume', request, idempotencyKey, claim })
    if (!begun.created) return begun
    const { name = null, diskBytes = BOUNDS.volumeDiskBytes } = request
    const { id } = await volumeWithinQuota(session, { id: newVolumeId(), tenantId, hostId, name, diskBytes })
    const operation = await session.operations.recordStep(begun.operation, 'begin', 'after', { volume: id })
    return { operation, created: true }
  })
}

/** Makes it and writes down that it is there; when it cannot be made nothing of it is left. */
async function finishVolume(context: Context, operation: Operation): Promise<void> {
  const { store, hearth } = context
  const id = volumeOf(operation)
  try {
    await underLease(context, operation, async () => {
      context.step('volume:begun')
      const row = await store.volumes.get(id)
      if (row === null) throw new HearthError('conflict', `volume ${id} is no longer being made`)
      await hearth.volumes.create({ id, diskBytes: row.diskBytes })
      context.step('volume:made')
      await store.transaction(async (session) => {
        await session.volumes.move(id, 'creating', 'ready')
        const data = { operation: operation.id, volume: id, name: row.name, diskBytes: row.diskBytes }
        await session.events.append({ tenantId: row.tenantId, sandboxId: null, type: 'volume.created', data })
        await session.operations.finish(operation, 'done')
      })
      context.step('volume:done')
    })
  } catch (error) {
    await undoVolume(context, operation, 'failed', error)
    throw error
  }
}

async function undoVolume(
  context: Context,
  operation: Operation,
  end: 'failed' | 'undone',
  error: unknown,
): Promise<void> {
  const id = volumeOf(operation)
  try {
    await context.hearth.volumes.discard(id)
    await context.store.transaction(async (session) => {
      await session.volumes.forget(id)
      await session.operations.finish(operation, end, { error: failure(error) })
    })
  } catch (undoing) {
    // The lease runs out, and recovery tries again.
    context.report(`undoing the volume ${id}`, undoing)
  }
}

/** Who sent a key will ask again and gets the volume; without one nobody knows of it, and it goes. */
export async function recoverVolume(context: Context, operation: Operation): Promise<{ finished: Promise<unknown> }> {
  const row = await context.store.volumes.get(volumeOf(operation))
  if (row !== null && row.hostId !== context.hostId)
    return { finished: context.store.operations.release(operation, { delayMs: ELSEWHERE_MS }) }
  if (row?.state !== 'creating' || operation.idempotencyKey === null || operation.attempts > ATTEMPTS) {
    const ended = new HearthError('internal', 'the server ended while the volume was made')
    return { finished: undoVolume(context, operation, 'undone', ended) }
  }
  const again = async (): Promise<void> => {
    await context.hearth.volumes.discard(row.id)
    context.step('recovery:discarded')
    await finishVolume(context, operation)
  }
  return { finished: trackWork(context, operation, again()) }
}
