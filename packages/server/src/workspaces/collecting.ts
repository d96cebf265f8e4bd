import { HearthError, type Collected, type CollectRequest } from '@hearth/contract'
import { storeSpace, type HostPaths } from '@hearth/engine'
import type { RepositoryRecord, WorkspaceRecord } from '../state/index.ts'
import { evictWorkspace, mayGo } from './evicting.ts'
import { emptyRepository } from './removing.ts'
import { removeSeed } from './seeds.ts'
import type { WorkspaceContext } from './workspace-context.ts'
import { treeState } from './workspace-tree.ts'

const DAY_MS = 24 * 3_600_000
/** Beyond this share of the store what is clean goes; beyond the second, what is dirty too, when it was saved. */
const PRESSURE = { clean: 0.85, dirty: 0.95 } as const

interface Scope {
  /** Null: of all tenants. */
  readonly tenantId: string | null
  readonly unusedMs: number
  readonly dirty: boolean
  /** False: what workspaces are made of alone. */
  readonly workspaces: boolean
  readonly dryRun: boolean
  /** Whether it is enough. */
  readonly enough?: () => Promise<boolean>
}

export async function collect(
  context: WorkspaceContext,
  tenantId: string,
  request: CollectRequest,
): Promise<Collected> {
  const { unusedMs = DAY_MS, dirty = false, workspaces = true, dryRun = false } = request
  return await collectWithin(context, { tenantId, unusedMs, dirty, workspaces, dryRun })
}

/** The share of the store that is used, from 0 to 1. */
export async function usedShare(paths: HostPaths): Promise<number> {
  const { blocks, bavail } = await storeSpace(paths)
  return 1 - bavail / blocks
}

/** Makes room where the store is nearly full, whosever it is: least valuable first. */
export async function relievePressure(context: WorkspaceContext): Promise<void> {
  const { storeShare: share } = context
  if ((await share()) < PRESSURE.clean) return
  const common = {
    tenantId: null,
    unusedMs: 0,
    workspaces: true,
    dryRun: false,
    enough: async () => (await share()) < PRESSURE.clean,
  }
  await collectWithin(context, { ...common, dirty: false })
  if ((await share()) >= PRESSURE.dirty) await collectWithin(context, { ...common, dirty: true })
}

/** What can be made again goes first: checkouts that nobody is compared with, clean workspaces, then dirty ones, then caches. */
async function collectWithin(context: WorkspaceContext, scope: Scope): Promise<Collected> {
  const enough = scope.enough ?? (async () => false)
  const workspaces: { id: string; rescued: boolean }[] = []
  let seeds = await collectSeeds(context, scope)
  for (const dirty of scope.dirty ? [false, true] : [false]) {
    for (const record of scope.workspaces ? await candidates(context, scope) : []) {
      if (await enough()) break
      const rescued = await giveUp(context, record, dirty, scope.dryRun)
      if (rescued !== null && !workspaces.some(({ id }) => id === record.id))
        workspaces.push({ id: record.id, rescued })
    }
  }
  if (!scope.dryRun) seeds += await collectSeeds(context, scope)
  return { workspaces, seeds, repositories: await collectRepositories(context, scope) }
}

async function candidates(context: WorkspaceContext, { tenantId, unusedMs }: Scope): Promise<WorkspaceRecord[]> {
  const found = await context.store.workspaces.ofHost(context.hostId, ['ready'])
  const old = found.filter(
    (record) =>
      !record.pinned && record.usedAt <= Date.now() - unusedMs && (tenantId === null || record.tenantId === tenantId),
  )
  const alive = await context.store.workspaces.alive(old.flatMap(({ sandboxId }) => sandboxId ?? []))
  return old.filter(({ sandboxId }) => sandboxId === null || !alive.has(sandboxId))
}

/** Null when it stays. */
async function giveUp(
  context: WorkspaceContext,
  record: WorkspaceRecord,
  dirty: boolean,
  dryRun: boolean,
): Promise<boolean | null> {
  try {
    return await context.turns.of(record.id, async () => {
      if (!dryRun) return await evictWorkspace(context, record, { dirty })
      const state = await treeState(context, record)
      return mayGo(state, dirty) ? state.unpushed : null
    })
  } catch (error) {
    // A sandbox has it by now, or somebody removed it.
    if (HearthError.isInstance(error) && (error.code === 'workspace_in_use' || error.code === 'volume_not_found'))
      return null
    // One that cannot be looked at or saved stays, and does not keep the others from going.
    context.report(`workspace ${record.id} cannot be given up`, error)
    return null
  }
}

async function collectSeeds(context: WorkspaceContext, { tenantId, unusedMs, dryRun }: Scope): Promise<number> {
  let count = 0
  for (const seed of await context.store.seeds.unused(context.hostId, Date.now() - unusedMs)) {
    const isOurs = tenantId === null || (await context.store.repositories.find(tenantId, seed.repositoryId)) !== null
    if (!isOurs) continue
    const remove = (): Promise<void> => removeIfUnused(context, seed.id, unusedMs)
    const gone = dryRun || (await succeeds(context, seed.id, () => context.turns.of(seed.repositoryId, remove)))
    if (gone) count += 1
  }
  return count
}

async function removeIfUnused(context: WorkspaceContext, id: string, unusedMs: number): Promise<void> {
  const seed = (await context.store.seeds.unused(context.hostId, Date.now() - unusedMs)).find((each) => each.id === id)
  if (seed !== undefined) await removeSeed(context, seed)
}

async function giveUpCache(context: WorkspaceContext, known: RepositoryRecord, dryRun: boolean): Promise<boolean> {
  if ((await context.store.workspaces.countOf(known.id, { evicted: false })) > 0) return false
  if (dryRun) return true
  await context.store.repositories.move(known.id, 'cold', { bytes: 0, fetchedAt: null })
  await emptyRepository(context, known)
  return true
}

/** What fails with one keeps no other from going. */
async function succeeds(context: WorkspaceContext, what: string, work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    context.report(`${what} cannot be given up`, error)
    return false
  }
}

/** Those without workspaces that have files: the next use clones them again. */
async function collectRepositories(context: WorkspaceContext, scope: Scope): Promise<string[]> {
  const given: string[] = []
  for (const known of await context.store.repositories.ofHost(context.hostId, ['ready'])) {
    if (scope.tenantId !== null && known.tenantId !== scope.tenantId) continue
    if (known.usedAt > Date.now() - scope.unusedMs || ((await scope.enough?.()) ?? false)) continue
    await succeeds(context, known.id, async () => {
      if (await context.turns.of(known.id, () => giveUpCache(context, known, scope.dryRun))) given.push(known.id)
    })
  }
  return given
}
