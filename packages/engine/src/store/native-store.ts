import { mkdir, readdir, rmdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { mountAt, readMounts } from './mount-table.ts'
import { runStore } from './store-helper.ts'

const BTRFS_MAGIC = 0x9123_683e
/** The inode of the top of a btrfs subvolume. */
export const SUBVOLUME_INODE = 256

/**
 * Quotas count a whole file system, also what belongs to others, and cost its owner time. So they are enabled only on one that is the store's
 * alone. One that holds more is used where its owner has enabled them already.
 */
export async function adoptMount(paths: HostPaths): Promise<void> {
  if ((await quotaState(paths.guest, paths.store)) === 'off') {
    if (!(await isAlone(paths.store))) {
      throw new Error(
        `the btrfs mounted at ${paths.store} holds more than the store, and its quotas are off: \`btrfs quota enable ${paths.store}\` enables them for all of it`,
      )
    }
    await runStore(paths.guest, 'quota-enable', paths.store)
  }
}

/** Whether a store that is not there yet can be a subvolume of the home: its btrfs has quotas on, and there is nothing to move into it. */
export async function canLieInHome(paths: HostPaths): Promise<boolean> {
  return (
    (await isBtrfs(paths.store)) &&
    (await readdir(paths.store)).length === 0 &&
    (await quotaState(paths.guest, paths.store)) === 'on'
  )
}

/** A subvolume, and no directory: the host's own snapshots of the home leave it out, and what is a store is known by it. */
export async function makeInHome(paths: HostPaths): Promise<void> {
  await rmdir(paths.store)
  try {
    await runStore(paths.guest, 'subvolume-create', paths.store)
  } finally {
    await mkdir(paths.store, { recursive: true, mode: 0o700 })
  }
}

/** Why limits would not be kept there; null when they are. */
export async function quotaProblem(paths: HostPaths): Promise<string | null> {
  const state = await quotaState(paths.guest, paths.store)
  if (state === 'on') return null
  const command = state === 'off' ? 'btrfs quota enable' : 'btrfs quota rescan -w'
  return `${paths.store} lies on a btrfs whose quotas are ${state}: run \`${command} ${paths.store}\``
}

/** Removes what lies in the store, also subvolumes. */
export async function emptyStore(paths: HostPaths): Promise<void> {
  for (const name of await readdir(paths.store)) await runStore(paths.guest, 'remove', join(paths.store, name))
}

export async function isBtrfs(path: string): Promise<boolean> {
  return (await statfs(path)).type === BTRFS_MAGIC
}

export async function isSubvolume(path: string): Promise<boolean> {
  return (await stat(path)).ino === SUBVOLUME_INODE && (await isBtrfs(path))
}

async function quotaState(guest: string, path: string): Promise<'off' | 'on' | 'inconsistent'> {
  const state = (await runStore(guest, 'quota', path)).trim()
  if (state === 'off' || state === 'on' || state === 'inconsistent') return state
  throw new Error(`the quotas of ${path} are '${state}'`)
}

/** Whether all of a file system is mounted there and nowhere else. */
async function isAlone(path: string): Promise<boolean> {
  const mount = await mountAt(path)
  if (mount === null || mount.root !== '/') return false
  return (await readMounts()).every(({ device, target }) => device !== mount.device || target === mount.target)
}
