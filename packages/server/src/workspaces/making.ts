import { BOUNDS, newVolumeId, newWorkspaceId, type WorkspaceSource } from '@hearth/contract'
import {
  forgetWorkspace,
  workspaceReady,
  workspaceWithinQuota,
  type RepositoryRecord,
  type WorkspaceRecord,
} from '../state/index.ts'
import { resolveRevision } from './fetching.ts'
import { enterBranch } from './seed-files.ts'
import { ensureSeed } from './seeds.ts'
import type { WorkspaceContext } from './workspace-context.ts'

export type Wanted = Pick<WorkspaceSource, 'ref' | 'branch' | 'fetch' | 'diskBytes'>

/** A copy of the checkout of its base. Where that is there already, nothing is fetched and no object is copied. */
export async function makeWorkspace(
  context: WorkspaceContext,
  known: RepositoryRecord,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<WorkspaceRecord> {
  const record = await context.turns.of(known.id, () => beginWorkspace(context, known, wanted, signal))
  try {
    context.step('workspace:begun')
    const { volumes } = context.hearth
    const { seedId, volumeId, diskBytes, branch, base } = record
    await volumes.clone(seedId as string, { id: volumeId, diskBytes })
    await volumes.fill(volumeId, (path) => enterBranch(path, branch, base))
    context.step('workspace:cloned')
    return await context.store.transaction(async (session) => {
      const ready = await workspaceReady(session, record.id)
      const data = { workspace: ready.id, repository: ready.repositoryId, base, branch }
      await session.events.append({ tenantId: ready.tenantId, sandboxId: null, type: 'workspace.created', data })
      return ready
    })
  } catch (error) {
    await undoWorkspace(context, record)
    throw error
  }
}

/** Its row names the checkout, which stays from then on. */
async function beginWorkspace(
  context: WorkspaceContext,
  known: RepositoryRecord,
  wanted: Wanted,
  signal?: AbortSignal,
): Promise<WorkspaceRecord> {
  const { repository, commit } = await resolveRevision(context, known, wanted, signal)
  const seed = await ensureSeed(context, repository, commit)
  const id = newWorkspaceId()
  const { tenantId, hostId } = repository
  await context.store.repositories.used(repository.id)
  return await context.store.transaction((session) =>
    workspaceWithinQuota(session, {
      id,
      tenantId,
      hostId,
      repositoryId: repository.id,
      seedId: seed.id,
      volumeId: newVolumeId(),
      branch: wanted.branch ?? defaultBranch(id),
      base: commit,
      lifetime: 'durable',
      // What it is made of counts too, as objects and as files.
      diskBytes: wanted.diskBytes ?? BOUNDS.volumeDiskBytes + 4 * repository.bytes,
    }),
  )
}

export function defaultBranch(id: string): string {
  return `hearth/${id.slice(-8)}`
}

/** Nobody was told of it. */
export async function undoWorkspace(context: WorkspaceContext, record: WorkspaceRecord): Promise<void> {
  await context.hearth.volumes.discard(record.volumeId)
  await context.store.transaction((session) => forgetWorkspace(session, record))
}
