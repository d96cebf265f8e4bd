import { rm } from 'node:fs/promises'
import { undoWorkspace } from './making.ts'
import { backToReady } from './evicting.ts'
import { finishRemoving, removeRepository, removeWorkspace } from './removing.ts'
import { removeSeed } from './seeds.ts'
import { repositoryDirectory, type WorkspaceContext } from './workspace-context.ts'

/** What the last life of this server left undone, before anything new begins. */
export async function settleWorkspaces(context: WorkspaceContext): Promise<void> {
  const { store, hostId } = context
  for (const seed of await store.seeds.ofHost(hostId, ['making', 'deleting'])) await removeSeed(context, seed)
  for (const record of await store.workspaces.ofHost(hostId, ['creating', 'evicting', 'evicted', 'deleting'])) {
    // Those of forks belong to the fork.
    if (record.state === 'creating' && record.parentId === null) await undoWorkspace(context, record)
    if (record.state === 'evicting') await backToReady(context, record)
    if (record.state === 'evicted') await context.hearth.volumes.discard(record.volumeId)
    if (record.state === 'deleting') await finishRemoving(context, record)
  }
  for (const record of await store.repositories.ofHost(hostId, ['cloning', 'deleting'])) {
    if (record.state === 'deleting') {
      await removeRepository(context, record)
      continue
    }
    await rm(repositoryDirectory(context, record.id), { recursive: true, force: true })
    await store.repositories.move(record.id, 'failed', { reason: 'the server ended while it was cloned' })
  }
}

/** Removes those that were made for a sandbox that has ended, and finishes removals that failed. */
export async function tidyWorkspaces(context: WorkspaceContext): Promise<void> {
  const { store, hostId } = context
  const found = await store.workspaces.ofHost(hostId, ['creating', 'ready', 'deleting'])
  const bound = found.filter(({ lifetime, state }) => lifetime === 'sandbox' || state === 'deleting')
  const alive = await store.workspaces.alive(bound.flatMap(({ sandboxId }) => sandboxId ?? []))
  for (const { id, tenantId, sandboxId } of bound) {
    if (sandboxId !== null && alive.has(sandboxId)) continue
    await context.turns.of(id, async () => {
      const record = await store.workspaces.find(tenantId, id)
      if (record?.state === 'deleting') await finishRemoving(context, record)
      else if (record?.lifetime === 'sandbox') await removeWorkspace(context, record)
    })
  }
}
