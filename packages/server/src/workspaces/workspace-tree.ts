import { BOUNDS, HearthError } from '@hearth/contract'
import type { WorkspaceRecord } from '../state/index.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { treeOf } from './git/commit.ts'
import { writeStillTree, type WrittenTree } from './git/still-tree.ts'
import { cacheOf, repositoryDirectory, type WorkspaceContext } from './workspace-context.ts'

/** The files of a workspace as they are at this instant, as a tree in the cache of its repository. */
export async function writeWorkspaceTree(
  context: WorkspaceContext,
  { volumeId, seedId, repositoryId, base, id }: WorkspaceRecord,
  signal?: AbortSignal,
): Promise<WrittenTree> {
  if (seedId === null) throw new HearthError('internal', `workspace ${id} has nothing that it could be compared with`)
  const { volumes } = context.hearth
  const given = signal === undefined ? {} : { signal }
  await using still = await volumes.still(volumeId)
  const changes = await volumes.changes(still, seedId, given)
  const scratch = join(repositoryDirectory(context, repositoryId), `scratch-${randomUUID()}`)
  return await writeStillTree(cacheOf(context, repositoryId).directory, base, still, changes, { scratch, ...given })
}

/** What is known of the changes of a workspace. */
export interface TreeState extends WrittenTree {
  /** It differs from the last commit that was made of it. */
  readonly dirty: boolean
  /** It holds what nobody has outside of this host. */
  readonly unpushed: boolean
}

export async function treeState(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  signal?: AbortSignal,
): Promise<TreeState> {
  const written = await writeWorkspaceTree(context, record, signal)
  const { directory } = cacheOf(context, record.repositoryId)
  const dirty = written.tree !== (await treeOf(directory, record.head ?? record.base))
  return { ...written, dirty, unpushed: dirty || (record.head !== null && record.pushed?.commit !== record.head) }
}

export const PATCH = { mostBytes: BOUNDS.workspacePatchBytes } as const
