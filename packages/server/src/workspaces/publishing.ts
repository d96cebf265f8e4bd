import { readFile } from 'node:fs/promises'
import { HearthError, type CommitView, type DiffSince, type PushView, type WorkspaceDiffView } from '@hearth/contract'
import { readChanges } from '@hearth/engine/git'
import type { WorkspaceRecord } from '../state/index.ts'
import { accessOf } from './fetching.ts'
import { findRepository } from './finding.ts'
import { AUTHOR, holdCommit, treeOf, writeCommit, type Person } from './git/commit.ts'
import { cacheOf, rescuedFile, type WorkspaceContext } from './workspace-context.ts'
import { PATCH, writeWorkspaceTree } from './workspace-tree.ts'

export interface CommitWish {
  readonly message: string
  readonly author?: Person | undefined
}

/** Writes the files of a workspace down as a commit on top of its last one. Called in its turn. */
export async function commitWorkspace(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  { message, author = AUTHOR }: CommitWish,
  signal?: AbortSignal,
): Promise<CommitView> {
  const { directory } = cacheOf(context, record.repositoryId)
  const parent = record.head ?? record.base
  const { tree } = await writeWorkspaceTree(context, record, signal)
  if (tree === (await treeOf(directory, parent))) return { commit: parent, created: false }
  const commit = await writeCommit(directory, { tree, parent, message, author, at: new Date() })
  await holdCommit(directory, record.id, commit)
  context.step('workspace:committed')
  await context.store.transaction(async (session) => {
    if ((await session.workspaces.patch(record.id, { head: commit })) === null)
      throw new HearthError('conflict', `workspace ${record.id} is no longer there`)
    const { tenantId, sandboxId, id } = record
    await session.events.append({ tenantId, sandboxId, type: 'workspace.committed', data: { workspace: id, commit } })
  })
  return { commit, created: true }
}

/** Sends the last commit. Called in its turn. */
export async function pushWorkspace(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  {
    branch = record.branch,
    force = false,
  }: { readonly branch?: string | undefined; readonly force?: boolean | undefined },
  signal?: AbortSignal,
): Promise<PushView> {
  const commit = record.head
  if (commit === null)
    throw new HearthError('invalid_state', `nothing was committed of workspace ${record.id}`, {
      suggestion: 'Commit first: `hearth workspace commit ID -m MESSAGE`.',
    })
  const repository = await findRepository(context, record.tenantId, record.repositoryId)
  const access = await accessOf(context, repository, signal)
  requireBranch(access.secret?.binding.branches, branch)
  await cacheOf(context, repository.id).push(access, commit, branch, force)
  context.step('workspace:pushed')
  const pushed = { branch, commit }
  await context.store.transaction(async (session) => {
    await session.workspaces.patch(record.id, { pushed })
    const { tenantId, sandboxId, id } = record
    await session.events.append({ tenantId, sandboxId, type: 'workspace.pushed', data: { workspace: id, ...pushed } })
  })
  return pushed
}

/** Whoever stored the token may have said which branches it may change. */
function requireBranch(branches: readonly string[] | undefined, branch: string): void {
  if (branches === undefined || branches.some((pattern) => branchMatches(pattern, branch))) return
  throw new HearthError('repository_denied', `the secret of the repository may not be used for the branch ${branch}`)
}

/** `*` stands for anything, as it does for pushes of a sandbox. */
function branchMatches(pattern: string, branch: string): boolean {
  const literal = (text: string): string => text.replaceAll(/[\\^$.|?+()[\]{}/]/g, String.raw`\$&`)
  return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`).test(branch)
}

/** What changed; of one that was evicted, what was saved. */
export async function diffWorkspace(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  since: DiffSince,
  signal?: AbortSignal,
): Promise<WorkspaceDiffView> {
  if (record.state === 'evicted') {
    const patch = record.rescued === null ? Buffer.alloc(0) : await readFile(rescuedFile(context, record.id))
    return { since: record.base, files: [], patch: patch.toString('base64'), skipped: [] }
  }
  const { tree, skipped } = await writeWorkspaceTree(context, record, signal)
  const { directory } = cacheOf(context, record.repositoryId)
  const from = since === 'commit' ? (record.head ?? record.base) : record.base
  const { patch, files } = await readChanges(directory, from, tree, {
    ...PATCH,
    ...(signal === undefined ? {} : { signal }),
  })
  return { since: from, files: [...files], patch: Buffer.from(patch).toString('base64'), skipped: [...skipped] }
}
