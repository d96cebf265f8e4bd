import { newVolumeId, type VolumeId } from '@hearth/contract'
import { volumeWithinQuota, type NewSandbox, type SandboxRecord, type StoreSession } from '../state/index.ts'
import { volumeNotFound } from './finding-volumes.ts'

/** The spec of a child: what its parent may write to it gets a copy of, under an identifier of its own; what it reads they share. */
export function withOwnVolumes<Row extends Pick<NewSandbox, 'spec'>>(row: Row): Row {
  const { volumes } = row.spec
  if (volumes === undefined) return row
  const own = volumes.map((mount) => (mount.readOnly === true ? mount : { ...mount, volume: newVolumeId() }))
  return { ...row, spec: { ...row.spec, volumes: own } }
}

/** Volumes that a sandbox alone may write to, in the order of its mounts. */
export function ownVolumes({ spec }: Pick<SandboxRecord, 'spec'>): VolumeId[] {
  return (spec.volumes ?? []).filter(({ readOnly }) => readOnly !== true).map(({ volume }) => volume as VolumeId)
}

/** Writes down the volumes of a child, within the quota. They go with it, and are there when the fork is complete. */
export async function insertForked(session: StoreSession, parent: SandboxRecord, child: SandboxRecord): Promise<void> {
  const copies = ownVolumes(child)
  for (const [index, source] of ownVolumes(parent).entries()) {
    const [from, id] = [await session.volumes.get(source), copies[index]]
    if (from === null || id === undefined) throw volumeNotFound(source)
    // A workspace writes down its own.
    if (from.workspaceId !== null) continue
    const { tenantId, hostId, diskBytes } = from
    await volumeWithinQuota(session, { id, tenantId, hostId, diskBytes, sandboxId: child.id })
  }
}
