import { BOUNDS, HearthError } from '@hearth/contract'
import type { StillCopy, VolumeChange } from '@hearth/engine'
import type { WorkspaceRecord } from '../state/index.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { treeOf } from './git/commit.ts'
import { guestCommits } from './git/guest-refs.ts'
import { writeStillTree, type WrittenTree } from './git/still-tree.ts'
import { cacheOf, repositoryDirectory, type WorkspaceContext } from './workspace-context.ts'

/** The files of a workspace as they are at this instant, as a tree in the cache of its repository. */
export async function writeWorkspaceTree(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  signal?: AbortSignal,
): Promise<WrittenTree> {
  return await readWorkspace(context, record, signal, async (tree) => await tree())
}

type Reader<Result> = (
  tree: () => Promise<WrittenTree>,
  directory: string,
  still: StillCopy,
  changes: readonly VolumeChange[],
) => Promise<Result>

async function readWorkspace<Result>(
  context: WorkspaceContext,
  { volumeId, seedId, repositoryId, base, id }: WorkspaceRecord,
  signal: AbortSignal | undefined,
  read: Reader<Result>,
): Promise<Result> {
  if (seedId === null) throw new HearthError('internal', `workspace ${id} has nothing that it could be compared with`)
  const { volumes } = context.hearth
  const given = signal === undefined ? {} : { signal }
  await using still = await volumes.still(volumeId)
  const changes = await volumes.changes(still, seedId, given)
  const scratch = join(repositoryDirectory(context, repositoryId), `scratch-${randomUUID()}`)
  const { directory } = cacheOf(context, repositoryId)
  const tree = (): Promise<WrittenTree> => writeStillTree(directory, base, still, changes, { scratch, ...given })
  return await read(tree, directory, still, changes)
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
  return await readWorkspace(context, record, signal, async (tree, directory, still, changes) => {
    const written = await tree()
    const inside = await guestCommits(directory, still, changes)
    const dirty = written.tree !== (await treeOf(directory, record.head ?? record.base))
    const unpushed = dirty || (record.head !== null && record.pushed?.commit !== record.head)
    const skipped = [...written.skipped, ...inside].slice(0, BOUNDS.workspaceSkipped)
    return { ...written, skipped, unsaved: written.unsaved || inside.length > 0, dirty, unpushed }
  })
}

export const PATCH = { mostBytes: BOUNDS.workspacePatchBytes } as const
