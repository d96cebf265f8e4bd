import { basename, dirname, join } from 'node:path'
import { HearthError, snapshotIdSchema, type SnapshotId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import type { StoredSnapshot } from './snapshot-manifest.ts'

/** As many layers as a root may have: each costs a little at every look-up, and all their names must fit into one mount. */
export const MAXIMUM_LAYERS = 16

export function snapshotsDirectory(paths: Pick<HostPaths, 'store'>): string {
  return join(paths.store, 'snapshots')
}

/** The changed files of a snapshot and of those below it, as lower directories of an overlay, topmost first. */
export function layersOf(snapshot: StoredSnapshot, paths: Pick<HostPaths, 'store'>): string[] {
  const { disk } = snapshot.manifest
  if (disk.kind === 'tree') {
    throw new HearthError('snapshot_incompatible', `snapshot ${snapshot.id} was taken of a simulated sandbox`)
  }
  const below = disk.kind === 'layer' ? disk.layers : []
  return [snapshot.id, ...below].map((id) => join(snapshotsDirectory(paths), id, 'disk', 'upper'))
}

/** Whose layer a directory that `layersOf` gave is. */
export function layerSnapshot(layer: string): SnapshotId {
  return snapshotIdSchema.parse(basename(dirname(dirname(layer))))
}
