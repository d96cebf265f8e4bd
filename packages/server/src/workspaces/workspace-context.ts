import { join } from 'node:path'
import type { RepositoryId, WorkspaceId } from '@hearth/contract'
import type { Context } from '../lifecycle/context.ts'
import { RepositoryCache } from './git/repository-cache.ts'
import type { Turns } from './turns.ts'

/** What all parts of repositories and workspaces share. */
export interface WorkspaceContext extends Pick<
  Context,
  'store' | 'hearth' | 'hostId' | 'leaseMs' | 'underWay' | 'step' | 'report'
> {
  readonly turns: Turns
  /** How full the store is, from 0 to 1. */
  readonly storeShare: () => Promise<number>
}

type WithHearth = Pick<WorkspaceContext, 'hearth'>

/** In the store, where the packs of a cache and those of a checkout can be the same blocks. */
export function repositoryDirectory({ hearth }: WithHearth, id: RepositoryId): string {
  return join(hearth.paths.store, 'repositories', id)
}

export function cacheOf(context: WithHearth, id: RepositoryId): RepositoryCache {
  return new RepositoryCache(repositoryDirectory(context, id))
}

/** What had changed in a workspace when its files were given up. It outlives the cache. */
export function rescuedFile({ hearth }: WithHearth, id: WorkspaceId): string {
  return join(hearth.paths.store, 'rescued', `${id}.patch`)
}
