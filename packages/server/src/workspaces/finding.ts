import { HearthError } from '@hearth/contract'
import type { RepositoryRecord, WorkspaceRecord } from '../state/index.ts'
import type { WorkspaceContext } from './workspace-context.ts'

/** Of this tenant, on this host. Nobody learns whether one that is not theirs exists. */
export async function findRepository(
  { store, hostId }: WorkspaceContext,
  tenantId: string,
  id: string,
): Promise<RepositoryRecord> {
  const record = await store.repositories.find(tenantId, id)
  if (record === null || record.state === 'deleting')
    throw new HearthError('repository_not_found', `there is no repository ${id}`, { context: { repository: id } })
  if (record.hostId !== hostId) throw new HearthError('conflict', `repository ${id} is cached on another host`)
  return record
}

export async function findWorkspace(
  { store, hostId }: WorkspaceContext,
  tenantId: string,
  id: string,
): Promise<WorkspaceRecord> {
  const record = await store.workspaces.find(tenantId, id)
  if (record === null || record.state === 'deleting')
    throw new HearthError('workspace_not_found', `there is no workspace ${id}`, { context: { workspace: id } })
  if (record.hostId !== hostId) throw new HearthError('conflict', `workspace ${id} lies on another host`)
  return record
}

/** With its files. */
export function requireReady({ id, state }: WorkspaceRecord): void {
  if (state === 'ready') return
  if (state === 'evicted' || state === 'evicting')
    throw new HearthError('workspace_evicted', `the files of workspace ${id} were given up`, {
      context: { workspace: id },
    })
  throw new HearthError('workspace_in_use', `workspace ${id} is ${state}`, { context: { workspace: id, state } })
}
