import { readdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { sandboxIdSchema, type SandboxId } from '@hearth/contract'
import { freeResources, readWholeResources } from '../drivers/machine-resources.ts'
import { sweepTrials } from '../drivers/microvm/trial-machine.ts'
import type { LinkServices } from '../drivers/link-driver.ts'
import type { HostPaths } from '../host/host.ts'
import { inBackground } from '../host/in-background.ts'
import { isReserved } from '../host/id-ranges.ts'
import { endKeeper, readKeeper } from '../host/keeper-process.ts'
import { isAlive } from '../host/process-identity.ts'
import { sweepClones } from '../store/clone-stock.ts'
import { groupsDirectory } from '../store/sleep-groups.ts'
import { findRecord, isAsleep, readRecord, sleeps, type SandboxRecord } from './sandbox-record.ts'
import { sweepPool } from '../pool/sweep-pool.ts'
import type { Snapshots } from './snapshots.ts'

/** What another process is just making looks like a leftover for a moment; nothing younger than this is touched. */
const GRACE_MS = 60_000

export interface SweepOptions {
  /** Default a minute. */
  readonly graceMs?: number
}

/**
 * Ends and removes what nobody owns any more: sandboxes past their deadline or without a keeper, directories that a
 * crash left half-made, empty cgroups, writable areas without a sandbox. A sandbox that runs within its deadline stays,
 * so that it can be adopted, and so does what this process holds (`held`). What cannot be removed, or whose record cannot be read, is told.
 */
export async function sweep(
  paths: HostPaths,
  services: LinkServices,
  snapshots: Snapshots,
  held: ReadonlySet<string>,
  options: SweepOptions = {},
): Promise<void> {
  const isOld = oldness(options.graceMs ?? GRACE_MS)
  const waiting = await sweepPool(paths, services)
  const each: Each = (what, work) => inBackground(`sweeping ${what}`, work, services.onProblem)
  for (const name of await list(paths.sandboxes)) {
    const id = sandboxIdSchema.safeParse(name).data
    if (id === undefined || held.has(name)) continue
    const directory = join(paths.sandboxes, name)
    await each(`sandbox ${name}`, () => sweepSandbox(id, directory, services, snapshots, isOld))
  }
  // In this order: a machine goes from the pool to the sandboxes, and is seen in one of them.
  const kept = new Set([...waiting, ...(await list(paths.sandboxes))])
  await sweepAreas(paths, services, kept, isOld, each)
  await sweepGroups(paths, services, kept, isOld, each)
  await each('copies of snapshots', () => sweepClones(paths))
  await each('trial machines', () => sweepTrials(paths.cache))
  await each('ranges of ids', () => sweepIds(paths, kept, isOld))
  await each('cgroups', () => sweepCgroups(services, isOld))
  await each('snapshots', () => snapshots.collect(options.graceMs ?? GRACE_MS))
  await each('counts of quotas', () => services.disks.tidy())
}

/** One leftover that cannot be removed is told, and keeps no other. */
type Each = (what: string, work: () => Promise<unknown>) => Promise<void>

/** Ends it, if it lives, and frees what the host holds for it. */
export async function removeSandbox(id: SandboxId, directory: string, services: LinkServices): Promise<void> {
  await freeMachine(id, directory, services)
  await services.disks.forget(id)
  await rm(directory, { recursive: true, force: true })
}

/** The same for the machine alone; what a sandbox sleeps in stays. */
export async function freeMachine(id: SandboxId, directory: string, services: LinkServices): Promise<void> {
  await endKeeper(directory)
  const resources = await readWholeResources(directory)
  // Whoever was waking it may have come as far as its files, and not to the note of them.
  if (resources === null && isAsleep(directory)) return await services.disks.clear(id)
  await freeResources(id, directory, resources, services)
}

type IsOld = (path: string) => Promise<boolean>

async function sweepSandbox(
  id: SandboxId,
  directory: string,
  services: LinkServices,
  snapshots: Snapshots,
  isOld: IsOld,
): Promise<void> {
  const found = await findRecord(directory)
  if (found.kind === 'record') return await sweepRecorded(id, directory, found.record, services, snapshots)
  const keeper = readKeeper(directory)
  const runs = keeper !== null && isAlive(keeper)
  // Without a record nothing was begun, and what a crash has damaged does not run: a keeper that does knows its deadline.
  if (found.kind === 'none' || (found.kind === 'damaged' && !runs)) {
    if (await isOld(directory)) await removeSandbox(id, directory, services)
  } else throw found.error
}

async function sweepRecorded(
  id: SandboxId,
  directory: string,
  record: SandboxRecord,
  services: LinkServices,
  snapshots: Snapshots,
): Promise<void> {
  if (isAlive(record.owner)) return
  const keeper = readKeeper(directory)
  const { origin, expiresAt } = record.info
  // A fork is complete when its snapshot is; whoever made this child died before.
  const whole = origin === null || (await snapshots.isComplete(origin))
  const stays = whole && expiresAt.getTime() > Date.now()
  if (stays && sleeps(record)) {
    const now = await readRecord(directory)
    // Somebody may have begun to wake it just now.
    if (now !== null && !isAlive(now.owner)) await freeMachine(id, directory, services)
    return
  }
  const runs = keeper !== null && isAlive(keeper)
  if (stays && runs) return
  await removeSandbox(id, directory, services)
}

async function sweepAreas(
  paths: HostPaths,
  services: LinkServices,
  kept: ReadonlySet<string>,
  isOld: IsOld,
  each: Each,
): Promise<void> {
  const areas = join(paths.store, 'areas')
  for (const name of await list(areas)) {
    const path = join(areas, name)
    if (kept.has(name) || !(await isOld(path))) continue
    await each(`area ${name}`, () => services.disks.remove({ path, kind: 'quota' }))
  }
}

async function sweepGroups(
  paths: HostPaths,
  services: LinkServices,
  kept: ReadonlySet<string>,
  isOld: IsOld,
  each: Each,
): Promise<void> {
  const directory = groupsDirectory(paths)
  for (const name of await list(directory)) {
    const id = sandboxIdSchema.safeParse(name).data
    if (id === undefined || kept.has(name) || !(await isOld(join(directory, name)))) continue
    await each(`group of quotas of ${name}`, () => services.disks.forget(id))
  }
}

async function sweepIds(paths: HostPaths, kept: ReadonlySet<string>, isOld: IsOld): Promise<void> {
  for (const slot of await list(join(paths.home, 'ids'))) {
    const path = join(paths.home, 'ids', slot)
    const owner = await readFile(path, 'utf8').catch(() => null)
    if (owner !== null && !kept.has(owner) && !isReserved(owner) && (await isOld(path))) await rm(path, { force: true })
  }
}

/** Ours are empty once their keeper has ended; the kernel refuses to remove one that is in use. */
async function sweepCgroups(services: LinkServices, isOld: IsOld): Promise<void> {
  // Homes share the hierarchies: what another one is just making is always left alone.
  const isOldElsewhere = oldness(GRACE_MS)
  for (const parent of services.cgroups.parents()) {
    for (const name of await list(parent)) {
      const path = join(parent, name)
      if (!/^[0-9a-f]{20}$/.test(name) || services.cgroups.holds(name)) continue
      if (await (services.cgroups.isOfHome(name) ? isOld : isOldElsewhere)(path))
        await rmdir(path).catch(() => undefined)
    }
  }
}

function oldness(graceMs: number): IsOld {
  return async (path) => {
    const found = await stat(path).catch(() => null)
    return found !== null && Date.now() - found.mtimeMs > graceMs
  }
}

async function list(directory: string): Promise<string[]> {
  try {
    return await readdir(directory)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
