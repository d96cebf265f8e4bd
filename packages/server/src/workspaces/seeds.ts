import { BOUNDS, HearthError, newVolumeId } from '@hearth/contract'
import type { RepositoryRecord, SeedRecord } from '../state/index.ts'
import { fillSeed } from './seed-files.ts'
import { cacheOf, type WorkspaceContext } from './workspace-context.ts'

/**
 * The checkout of a commit that workspaces are copied of: the one that is there, or a new one that is made of the nearest. Called in the turn of
 * the repository.
 */
export async function ensureSeed(
  context: WorkspaceContext,
  repository: RepositoryRecord,
  base: string,
): Promise<SeedRecord> {
  const { store, hearth, hostId } = context
  const known = await store.seeds.ofRepository(repository.id)
  const same = known.find((seed) => seed.base === base)
  if (same?.state === 'ready' && (await hearth.volumes.info(same.id)) !== null) {
    await store.seeds.used(same.id)
    return same
  }
  if (same !== undefined) await removeSeed(context, same)
  const made = await store.seeds.insert({ id: newVolumeId(), repositoryId: repository.id, base, hostId })
  if (made === null) throw new HearthError('conflict', `a checkout of ${base} is being made`)
  try {
    context.step('seed:begun')
    const nearest = known.find((seed) => seed.state === 'ready' && seed !== same) ?? null
    await makeSeed(context, repository, made, nearest)
    context.step('seed:filled')
    await store.seeds.move(made.id, 'making', 'ready')
    return { ...made, state: 'ready' }
  } catch (error) {
    await removeSeed(context, made)
    throw error
  }
}

async function makeSeed(
  context: WorkspaceContext,
  repository: RepositoryRecord,
  { id, base }: SeedRecord,
  nearest: SeedRecord | null,
): Promise<void> {
  const { volumes } = context.hearth
  const { directory } = cacheOf(context, repository.id)
  const options = { id, diskBytes: 2 * BOUNDS.repositoryBytes }
  if (nearest === null) await volumes.create(options)
  else await volumes.clone(nearest.id, options)
  await volumes.fill(id, (path) => fillSeed(directory, path, base, nearest?.base ?? null))
}

/** Also what a crash has left of it. */
export async function removeSeed(context: WorkspaceContext, { id, state }: SeedRecord): Promise<void> {
  await context.store.seeds.move(id, state, 'deleting')
  await context.hearth.volumes.discard(id)
  await context.store.seeds.forget(id)
}
