import { HearthError, newWorkspaceId, WORKSPACE_PATH, type VolumeId } from '@hearth/contract'
import { forgetWorkspace, workspaceWithinQuota, type SandboxRecord, type StoreSession } from '../state/index.ts'
import { defaultBranch } from '../workspaces/making.ts'

/** Each child of a sandbox with a workspace gets one of its own, which goes with it unless somebody keeps it. */
export async function beginForkedWorkspaces(
  session: StoreSession,
  parent: SandboxRecord,
  children: readonly SandboxRecord[],
): Promise<void> {
  const known = await session.workspaces.ofSandbox(parent.id)
  if (known === null) return
  const { tenantId, hostId, repositoryId, seedId, base, head, pushed, diskBytes } = known
  for (const child of children) {
    const volumeId = child.spec.volumes?.find(({ path }) => path === WORKSPACE_PATH)?.volume as VolumeId | undefined
    if (volumeId === undefined) throw new HearthError('internal', `sandbox ${parent.id} has lost its workspace`)
    const id = newWorkspaceId()
    await workspaceWithinQuota(session, {
      id,
      tenantId,
      hostId,
      repositoryId,
      seedId,
      volumeId,
      base,
      head,
      pushed,
      diskBytes,
      branch: defaultBranch(id),
      lifetime: 'sandbox',
      parentId: known.id,
      sandboxId: child.id,
    })
  }
}

/** They are there, and so are their sandboxes. */
export async function settleForkedWorkspaces(session: StoreSession, children: readonly SandboxRecord[]): Promise<void> {
  for (const { id } of children) {
    const workspace = await session.workspaces.ofSandbox(id)
    if (workspace !== null) await session.workspaces.move(workspace.id, 'ready')
  }
}

/** Nobody was told of them. */
export async function discardForkedWorkspaces(
  session: StoreSession,
  children: readonly SandboxRecord[],
): Promise<void> {
  for (const { id } of children) {
    const workspace = await session.workspaces.ofSandbox(id)
    if (workspace !== null) await forgetWorkspace(session, workspace)
  }
}
