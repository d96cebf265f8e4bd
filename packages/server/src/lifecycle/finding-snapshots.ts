import { HearthError } from '@hearth/contract'
import type { SnapshotRecord } from '../state/index.ts'
import type { Context } from './context.ts'

/** A snapshot of this tenant that lies on this host, by identifier or name. */
export async function findSnapshot(
  { store, hostId }: Pick<Context, 'store' | 'hostId'>,
  tenantId: string,
  snapshot: string,
): Promise<SnapshotRecord> {
  const record = await store.snapshots.find(tenantId, snapshot)
  if (record === null) throw snapshotNotFound(snapshot)
  if (record.hostId !== hostId) throw new HearthError('conflict', `snapshot ${record.id} lies on another host`)
  return record
}

/** For another tenant's too: nobody learns whether one that is not theirs exists. */
export function snapshotNotFound(snapshot: string): HearthError {
  return new HearthError('snapshot_not_found', `there is no snapshot ${snapshot}`, { context: { snapshot } })
}
