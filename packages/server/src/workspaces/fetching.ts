import { rm } from 'node:fs/promises'
import { BOUNDS, HearthError, type FetchMode, type Secret } from '@hearth/contract'
import type { RepositoryRecord } from '../state/index.ts'
import type { RemoteAccess } from './git/repository-cache.ts'
import { parseRemote } from './git/remote.ts'
import { knownServer } from './known-servers.ts'
import { cacheOf, repositoryDirectory, type WorkspaceContext } from './workspace-context.ts'

/** How its server is spoken to. The secret is read each time: tokens of forges live for an hour. */
export async function accessOf(
  { store }: Pick<WorkspaceContext, 'store'>,
  { tenantId, url, path, secret, anywhere }: RepositoryRecord,
  signal?: AbortSignal,
): Promise<RemoteAccess> {
  const remote = parseRemote(url === null ? { path: path ?? '' } : { url })
  const opens = secret === null ? null : await revealed({ store }, tenantId, secret)
  const server = await knownServer(store, tenantId, remote, opens)
  return { remote, secret: opens, anywhere, server, ...(signal === undefined ? {} : { signal }) }
}

export async function revealed(
  { store }: Pick<WorkspaceContext, 'store'>,
  tenantId: string,
  secret: string,
): Promise<Secret> {
  const found = await store.secrets.reveal(tenantId, secret)
  if (found !== null) return found
  throw new HearthError('secret_not_found', `there is no secret ${secret}`, { context: { secret } })
}

/** Asks the server. One that has no cache is cloned. Called in the turn of the repository. */
export async function fetchRepository(
  context: WorkspaceContext,
  known: RepositoryRecord,
  signal?: AbortSignal,
): Promise<RepositoryRecord> {
  const { store } = context
  if (known.state === 'ready') {
    const access = await accessOf(context, known, signal)
    const fetched = await cacheOf(context, known.id).fetch(access)
    return await store.repositories.note(known.id, fetched)
  }
  if (known.state !== 'cloning') await store.repositories.move(known.id, 'cloning')
  context.step('repository:begun')
  try {
    const fetched = await cacheOf(context, known.id).fetch(await accessOf(context, known, signal))
    context.step('repository:fetched')
    return await store.repositories.move(known.id, 'ready', { ...fetched, fetchedAt: Date.now(), reason: null })
  } catch (error) {
    await rm(repositoryDirectory(context, known.id), { recursive: true, force: true })
    const reason = error instanceof Error ? error.message : String(error)
    await store.repositories.move(known.id, 'failed', { reason, bytes: 0, fetchedAt: null })
    throw error
  }
}

export interface Resolved {
  readonly repository: RepositoryRecord
  readonly commit: string
}

/** The commit of a revision, new enough for who asks. Called in the turn of the repository. */
export async function resolveRevision(
  context: WorkspaceContext,
  known: RepositoryRecord,
  { ref, fetch = 'auto' }: { readonly ref?: string | undefined; readonly fetch?: FetchMode | undefined },
  signal?: AbortSignal,
): Promise<Resolved> {
  const fresh = known.fetchedAt !== null && Date.now() - known.fetchedAt < BOUNDS.repositoryFreshMs
  const cached = known.state === 'ready'
  if (cached && (fetch === 'never' || (fetch === 'auto' && fresh))) {
    const commit = await commitOf(context, known, ref)
    if (commit !== null) return { repository: known, commit }
    if (fetch === 'never') throw notFound(known, ref)
  }
  const repository = await fetchRepository(context, known, signal)
  const commit = await commitOf(context, repository, ref)
  if (commit === null) throw notFound(repository, ref)
  return { repository, commit }
}

async function commitOf(context: WorkspaceContext, { id, defaultBranch }: RepositoryRecord, ref: string | undefined) {
  const revision = ref ?? defaultBranch
  return revision === null ? null : await cacheOf(context, id).resolve(revision)
}

function notFound({ id }: RepositoryRecord, ref: string | undefined): HearthError {
  const what = ref === undefined ? 'no commit on its default branch' : `no ${ref}`
  return new HearthError('revision_not_found', `repository ${id} has ${what}`, { context: { repository: id, ref } })
}
