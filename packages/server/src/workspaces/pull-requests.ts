import { HearthError, type PullRequestResult } from '@hearth/contract'
import type { WorkspaceRecord } from '../state/index.ts'
import { accessOf, revealed } from './fetching.ts'
import { findRepository } from './finding.ts'
import { createPullRequest } from './forges/create-pull-request.ts'
import { requireForgeToken, webUrl } from './forges/forge-token.ts'
import { placeOf } from './forges/forge.ts'
import { ANYWHERE } from './git/remote.ts'
import type { WorkspaceContext } from './workspace-context.ts'

export interface MergeWish {
  readonly title: string
  readonly body?: string | undefined
  readonly base?: string | undefined
  readonly draft?: boolean | undefined
}

/** Asks the forge for what was pushed to be merged. Called in the turn of the workspace. */
export async function askForMerge(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  { title, body, base: wanted, draft }: MergeWish,
  signal: AbortSignal = new AbortController().signal,
): Promise<PullRequestResult> {
  if (record.pushed === null)
    throw new HearthError('invalid_state', `workspace ${record.id} was not pushed`, { suggestion: 'Push it first.' })
  const repository = await findRepository(context, record.tenantId, record.repositoryId)
  const { secret, remote, anywhere } = await accessOf(context, repository, signal)
  const { tenantId, forgeSecret } = repository
  const token = forgeSecret === null ? secret : await revealed(context, tenantId, forgeSecret)
  if (token === null) throw new HearthError('repository_denied', `repository ${repository.id} names no secret`)
  const remoteUrl = webUrl(remote)
  requireForgeToken(token, remoteUrl, placeOf(repository.forge, remoteUrl).api)
  const base = wanted ?? repository.defaultBranch
  if (base === null) throw new HearthError('invalid_request', 'base: the repository has no default branch')
  const { branch } = record.pushed
  const { forge, number, url, created } = await createPullRequest({
    forge: repository.forge,
    remoteUrl,
    token: token.value,
    branch,
    base,
    title,
    signal,
    networks: anywhere ? ANYWHERE : [],
    ...(body === undefined ? {} : { body }),
    ...(draft === undefined ? {} : { draft }),
  })
  const pullRequest = { forge, number, url, branch, base }
  await context.store.transaction(async (session) => {
    await session.workspaces.patch(record.id, { pullRequest })
    const { sandboxId, id } = record
    const data = { workspace: id, ...pullRequest }
    await session.events.append({ tenantId, sandboxId, type: 'workspace.pull_request', data })
  })
  return { ...pullRequest, created }
}
