import type { StatsFs } from 'node:fs'
import { readdir, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { inspectStore, type Store } from './disk-store.ts'
import { isPassing } from './snapshot-manifest.ts'
import { SnapshotStore } from './snapshot-store.ts'
import { runStore } from './store-helper.ts'

/** Of how many things, and bytes on disk. */
export interface Share {
  readonly count: number
  readonly bytes: number
}

/** What fills the store of a host. What several hold together is counted for the one that wrote it. */
export interface StoreUsage {
  readonly kind: Store['kind']
  /** Which btrfs it lies on; null when it is a plain directory. */
  readonly place: Store['place']
  /** Why it is a plain directory. */
  readonly reason: string | null
  /** Of the file system that the store lies on. */
  readonly totalBytes: number
  readonly freeBytes: number
  /** Files of sandboxes that are there now. Those of a store without btrfs are in memory, and counted nowhere. */
  readonly areas: Share
  readonly snapshots: Share
  readonly memory: Share
  /** Snapshots that the children of forks stand on. */
  readonly forks: Share
  /** What sandboxes sleep in, their memory too. */
  readonly hibernated: Share
  /** Machines that were booted once, for every microVM of their shape to go on from. */
  readonly baked: Share
  readonly templates: Share
  readonly cache: Share
}

/** Of the file system that the store is on, or will be when something is made in it. */
export async function storeSpace(paths: HostPaths): Promise<StatsFs> {
  return await statfs(paths.store).catch(() => statfs(paths.home))
}

export async function storeUsage(paths: HostPaths): Promise<StoreUsage> {
  const store = await inspectStore(paths)
  const { blocks, bavail, bsize } = await storeSpace(paths)
  const all = await new SnapshotStore(paths).list()
  const taken = all.filter(({ manifest }) => !isPassing(manifest))
  const forks = all.filter(({ manifest }) => manifest.kind === 'fork')
  const asleep = all.filter(({ manifest }) => manifest.kind === 'hibernation')
  const withMemory = taken.filter(({ manifest }) => manifest.memory !== null)
  const disk = (some: typeof all): Share => ({
    count: some.length,
    bytes: some.reduce((total, { manifest }) => total + manifest.info.diskBytes, 0),
  })
  const memoryOf = async (some: typeof all): Promise<number> => {
    const each = await Promise.all(some.map(({ directory }) => treeBytes(paths, join(directory, 'memory'))))
    return each.reduce((total, bytes) => total + bytes, 0)
  }
  const sleepers = asleep.filter(({ manifest }) => manifest.memory !== null)
  return {
    ...store,
    totalBytes: blocks * bsize,
    freeBytes: bavail * bsize,
    areas: await areaShare(paths, store),
    snapshots: disk(taken),
    memory: { count: withMemory.length, bytes: await memoryOf(withMemory) },
    forks: disk(forks),
    hibernated: { count: asleep.length, bytes: disk(asleep).bytes + (await memoryOf(sleepers)) },
    baked: await directoryShare(paths, join(paths.store, 'baked')),
    templates: await directoryShare(paths, join(paths.templates, 'roots')),
    cache: await directoryShare(paths, paths.cache),
  }
}

async function areaShare(paths: HostPaths, store: Store): Promise<Share> {
  const directory = join(paths.store, 'areas')
  const names = store.kind === 'btrfs' ? await list(directory) : []
  let bytes = 0
  // One that vanishes meanwhile counts nothing.
  for (const name of names)
    bytes += Number(await runStore(paths.guest, 'usage', join(directory, name)).catch(() => '0'))
  return { count: names.length, bytes }
}

async function directoryShare(paths: HostPaths, directory: string): Promise<Share> {
  return { count: (await list(directory)).length, bytes: await treeBytes(paths, directory) }
}

async function treeBytes(paths: HostPaths, directory: string): Promise<number> {
  return Number(await runStore(paths.guest, 'bytes', directory))
}

async function list(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
