import { HearthError, type NamedVolumeMounts, type VolumeMount } from '@hearth/contract'
import type { Context } from '../lifecycle/context.ts'
import type { VolumeRecord } from '../state/index.ts'

type Parts = Pick<Context, 'store' | 'hostId'>

/** A volume of this tenant that lies on this host, by identifier or name. */
export async function findVolume({ store, hostId }: Parts, tenantId: string, volume: string): Promise<VolumeRecord> {
  const record = await store.volumes.find(tenantId, volume)
  if (record === null) throw volumeNotFound(volume)
  if (record.hostId !== hostId) throw new HearthError('conflict', `volume ${record.id} lies on another host`)
  return record
}

/** For another tenant's too: nobody learns whether one that is not theirs exists. */
export function volumeNotFound(volume: string): HearthError {
  return new HearthError('volume_not_found', `there is no volume ${volume}`, { context: { volume } })
}

/** What a tenant asked for, as the engine knows it: by identifiers alone. */
export async function resolveMounts(parts: Parts, tenantId: string, mounts: NamedVolumeMounts): Promise<VolumeMount[]> {
  const resolved: VolumeMount[] = []
  for (const { volume, path, readOnly } of mounts) {
    const record = await findVolume(parts, tenantId, volume)
    requireOwn(record)
    if (record.state === 'lost')
      throw new HearthError('volume_not_found', `the files of volume ${record.id} are not in the store of its host`)
    resolved.push({ volume: record.id, path, readOnly })
  }
  return resolved
}

/** The files of a workspace are reached through it alone: it knows who has them. */
export function requireOwn({ id, workspaceId }: VolumeRecord): void {
  if (workspaceId === null) return
  throw new HearthError('volume_in_use', `volume ${id} holds the files of workspace ${workspaceId}`, {
    context: { volume: id, workspace: workspaceId },
    suggestion: `Name the workspace instead of its volume: \`--workspace ${workspaceId}\`, \`hearth workspace rm ${workspaceId}\`.`,
  })
}
