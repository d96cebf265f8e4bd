import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { guarded } from '../lifecycle/guarded.ts'
import type { RepositoryRecord, WorkspaceRecord } from '../state/index.ts'
import { undoWorkspace } from './making.ts'
import { backToReady } from './evicting.ts'
import { endLeftovers } from './git/leftovers.ts'
import { clearUnfinished } from './git/unfinished.ts'
import { finishRemoving, removeRepository, removeWorkspace } from './removing.ts'
import { removeSeed } from './seeds.ts'
import { cacheOf, repositoryDirectory, type WorkspaceContext } from './workspace-context.ts'

/** What the last life of this server left undone, before anything new begins. What cannot be done now is told, and is done by the next start. */
export async function settleWorkspaces(context: WorkspaceContext): Promise<void> {
  const { store, hostId, hearth } = context
  // They would go on writing to what is removed below.
  await guarded(context, 'ending what speaks to servers of git', () =>
    endLeftovers(join(hearth.paths.store, 'repositories')),
  )
  for (const seed of await store.seeds.ofHost(hostId, ['making', 'deleting'])) {
    await guarded(context, `removing ${seed.id}`, () => removeSeed(context, seed))
  }
  for (const record of await store.workspaces.ofHost(hostId, ['creating', 'evicting', 'evicted', 'deleting'])) {
    await guarded(context, `settling ${record.id}`, () => settleWorkspace(context, record))
  }
  for (const { id } of await store.repositories.ofHost(hostId, ['ready'])) {
    await guarded(context, `settling ${id}`, () => clearUnfinished(cacheOf(context, id).directory))
  }
  for (const record of await store.repositories.ofHost(hostId, ['cloning', 'deleting'])) {
    await guarded(context, `settling ${record.id}`, () => settleRepository(context, record))
  }
}

async function settleWorkspace(context: WorkspaceContext, record: WorkspaceRecord): Promise<void> {
  // Those of forks belong to the fork.
  if (record.state === 'creating' && record.parentId === null) await undoWorkspace(context, record)
  if (record.state === 'evicting') await backToReady(context, record)
  if (record.state === 'evicted') await context.hearth.volumes.discard(record.volumeId)
  if (record.state === 'deleting') await finishRemoving(context, record)
}

async function settleRepository(context: WorkspaceContext, record: RepositoryRecord): Promise<void> {
  if (record.state === 'deleting') return await removeRepository(context, record)
  await rm(repositoryDirectory(context, record.id), { recursive: true, force: true })
  await context.store.repositories.move(record.id, 'failed', { reason: 'the server ended while it was cloned' })
}

/** Removes those that were made for a sandbox that has ended, and finishes removals that failed. */
export async function tidyWorkspaces(context: WorkspaceContext): Promise<void> {
  const { store, hostId } = context
  const found = await store.workspaces.ofHost(hostId, ['creating', 'ready', 'deleting'])
  const bound = found.filter(({ lifetime, state }) => lifetime === 'sandbox' || state === 'deleting')
  const alive = await store.workspaces.alive(bound.flatMap(({ sandboxId }) => sandboxId ?? []))
  for (const { id, tenantId, sandboxId } of bound) {
    if (sandboxId !== null && alive.has(sandboxId)) continue
    const remove = async (): Promise<void> => {
      const record = await store.workspaces.find(tenantId, id)
      if (record?.state === 'deleting') await finishRemoving(context, record)
      else if (record?.lifetime === 'sandbox') await removeWorkspace(context, record)
    }
    await guarded(context, `removing ${id}`, () => context.turns.of(id, remove))
  }
}
