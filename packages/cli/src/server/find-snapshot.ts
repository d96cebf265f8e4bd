import type { Hearth, SnapshotInfo } from '@hearth/sdk'
import { isWholeId, pickNamed, type Kind } from './find-named.ts'

const SNAPSHOT: Kind = {
  what: 'snapshot',
  several: 'snapshots',
  prefix: 'sn',
  missing: 'snapshot_not_found',
  list: 'hearth snapshot ls',
}

/** The snapshot that a person names. */
export async function findSnapshot(hearth: Hearth, name: string, signal?: AbortSignal): Promise<SnapshotInfo> {
  const options = signal === undefined ? {} : { signal }
  if (isWholeId(SNAPSHOT, name)) return await hearth.snapshots.get(name, options)
  return pickNamed(SNAPSHOT, await hearth.snapshots.list(options), name)
}
