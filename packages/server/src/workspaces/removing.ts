import { rm } from 'node:fs/promises'
import { HearthError } from '@hearth/contract'
import { forgetWorkspace, type RepositoryRecord, type WorkspaceRecord } from '../state/index.ts'
import { holdCommit } from './git/commit.ts'
import { removeSeed } from './seeds.ts'
import { cacheOf, repositoryDirectory, rescuedFile, type WorkspaceContext } from './workspace-context.ts'

/** With its files, its commits that nobody has and what was saved of it. `workspace_in_use` while a sandbox has it. Called in its turn. */
export async function removeWorkspace(context: WorkspaceContext, { id }: WorkspaceRecord): Promise<void> {
  const deleting = await context.store.workspaces.moveFree(id, 'deleting')
  context.step('workspace:removing')
  await finishRemoving(context, deleting)
}

/** The second half, which a restarted server repeats. */
export async function finishRemoving(context: WorkspaceContext, record: WorkspaceRecord): Promise<void> {
  const { id, tenantId, volumeId, repositoryId } = record
  await context.hearth.volumes.discard(volumeId)
  await rm(rescuedFile(context, id), { force: true })
  const repository = await context.store.repositories.find(tenantId, repositoryId)
  if (repository?.state === 'ready') await holdCommit(cacheOf(context, repositoryId).directory, id, null)
  context.step('workspace:freed')
  await context.store.transaction(async (session) => {
    await forgetWorkspace(session, record)
    const data = { workspace: id, repository: repositoryId }
    await session.events.append({ tenantId, sandboxId: null, type: 'workspace.removed', data })
  })
}

/** With its cache and its checkouts. `repository_in_use` while there are workspaces of it. Called in its turn. */
export async function removeRepository(context: WorkspaceContext, record: RepositoryRecord): Promise<void> {
  const { store } = context
  await store.transaction(async (session) => {
    if ((await session.workspaces.countOf(record.id, { evicted: true })) > 0)
      throw new HearthError('repository_in_use', `there are workspaces of repository ${record.id}`)
    if (record.state !== 'deleting') await session.repositories.move(record.id, 'deleting')
  })
  await emptyRepository(context, record)
  await store.transaction(async (session) => {
    await session.repositories.forget(record.id)
    const { tenantId, url, path } = record
    const data = { repository: record.id, address: url ?? path }
    await session.events.append({ tenantId, sandboxId: null, type: 'repository.removed', data })
  })
}

/** What it takes on this host. */
export async function emptyRepository(context: WorkspaceContext, { id }: RepositoryRecord): Promise<void> {
  for (const seed of await context.store.seeds.ofRepository(id)) await removeSeed(context, seed)
  await rm(repositoryDirectory(context, id), { recursive: true, force: true })
}
