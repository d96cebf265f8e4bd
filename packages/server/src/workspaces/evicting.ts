import { mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { HearthError } from '@hearth/contract'
import { readChanges } from '@hearth/engine/git'
import type { WorkspaceRecord } from '../state/index.ts'
import { cacheOf, rescuedFile, type WorkspaceContext } from './workspace-context.ts'
import { PATCH, treeState, type TreeState } from './workspace-tree.ts'

export interface Eviction {
  /** Also one with changes that nobody has elsewhere. */
  readonly dirty: boolean
}

/**
 * Gives up the files of a workspace that no sandbox has. What nobody has elsewhere is saved as a patch first, and where that may not or cannot be
 * done, all stays. Null when it stays; else whether something was saved. Called in its turn.
 */
export async function evictWorkspace(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  { dirty }: Eviction,
): Promise<boolean | null> {
  const { store } = context
  const evicting = await store.workspaces.moveFree(record.id, 'evicting')
  try {
    const state = await treeState(context, evicting)
    const { unpushed, tree } = state
    if (!mayGo(state, dirty)) {
      await store.workspaces.move(record.id, 'ready')
      return null
    }
    const bytes = unpushed ? await rescue(context, evicting, tree) : null
    context.step('workspace:rescued')
    return await finishEvicting(context, evicting, bytes)
  } catch (error) {
    await backToReady(context, record)
    throw error
  }
}

/** Never one of which a patch would not save all: files that no commit can hold, and commits that its sandboxes made. */
export function mayGo({ unpushed, unsaved }: TreeState, dirty: boolean): boolean {
  return !unsaved && (dirty || !unpushed)
}

/** The second half, which a restarted server repeats from the beginning where nothing was saved yet. */
async function finishEvicting(
  context: WorkspaceContext,
  { id, tenantId, volumeId }: WorkspaceRecord,
  rescuedBytes: number | null,
): Promise<boolean> {
  const { store } = context
  const rescued = rescuedBytes === null ? null : { bytes: rescuedBytes, at: Date.now() }
  await store.transaction(async (session) => {
    await session.workspaces.move(id, 'evicted', { rescued, seedId: null })
    await session.volumes.forget(volumeId)
    const data = { workspace: id, rescued: rescued !== null }
    await session.events.append({ tenantId, sandboxId: null, type: 'workspace.evicted', data })
  })
  context.step('workspace:emptied')
  await context.hearth.volumes.discard(volumeId)
  return rescued !== null
}

async function rescue(
  context: WorkspaceContext,
  { id, repositoryId, base }: WorkspaceRecord,
  tree: string,
): Promise<number> {
  const { patch } = await readChanges(cacheOf(context, repositoryId).directory, base, tree, PATCH)
  const target = rescuedFile(context, id)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const file = await open(`${target}.new`, 'w', 0o600)
  try {
    await file.writeFile(patch)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${target}.new`, target)
  return patch.length
}

/** Its files are all there: nothing of them goes before the row says that they are gone. */
export async function backToReady(context: WorkspaceContext, { id }: WorkspaceRecord): Promise<void> {
  await context.store.workspaces.move(id, 'ready').catch((error: unknown) => {
    if (!HearthError.isInstance(error) || error.code !== 'conflict') throw error
  })
}
