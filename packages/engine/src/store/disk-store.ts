import { chmod, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { BuildLock } from '../templates/build-lock.ts'
import { hostCommand } from './host-command.ts'
import { imagePath, makeImage, mountImage } from './loop-store.ts'
import { mountAt } from './mount-table.ts'
import { adoptMount, canLieInHome, emptyStore, isSubvolume, makeInHome, quotaProblem } from './native-store.ts'

/** Making a store takes seconds; who waits this long for another process waits for nothing. */
const LOCK_WAIT_MS = 60_000

/**
 * Which btrfs the store lies on. `file`: one in a file of fixed size in the home. `mount`: one that somebody mounted at `HEARTH_HOME/store`.
 * `home`: that of the home itself, as a subvolume.
 */
export type StorePlace = 'file' | 'mount' | 'home'

export type Store =
  | { readonly kind: 'btrfs'; readonly place: StorePlace; readonly reason: null }
  /** A plain directory: there is no quota on disk, so disk limits are kept in memory. */
  | { readonly kind: 'directory'; readonly place: null; readonly reason: string }

/**
 * Makes sure that `paths.store` is a btrfs with quotas, the first of these that can be had:
 * - what is mounted there, when it is a btrfs of the store's own, or has quotas on already;
 * - a file that is there already, which is mounted again, for example after a reboot;
 * - a subvolume of the home, when its btrfs has quotas on already and `HEARTH_STORE_SIZE` does not ask for a size;
 * - a file of fixed size whose blocks are all allocated ahead, so that neither sandboxes can fill the host's disk nor the host can take space
 *   away under them.
 * Never throws for what a host cannot do: then it is a directory, with the reason.
 */
export async function ensureStore(paths: HostPaths, environment: NodeJS.ProcessEnv = process.env): Promise<Store> {
  await mkdir(paths.store, { recursive: true, mode: 0o700 })
  const now = await inspectStore(paths)
  if (now.kind === 'btrfs' || process.getuid?.() !== 0) return now
  const limit = AbortSignal.timeout(LOCK_WAIT_MS)
  await using _lock = await BuildLock.acquire(join(paths.home, 'locks'), 'store', limit, () => undefined)
  try {
    const made = await makeStore(paths, environment)
    if (made.kind === 'btrfs') await tighten(paths)
    return made
  } catch (error) {
    return directory(error instanceof Error ? error.message : String(error))
  }
}

/** Takes up a store that the set-up made or somebody mounted, for example after a reboot, and makes none. */
export async function openStore(paths: HostPaths): Promise<Store> {
  const there = (await exists(imagePath(paths))) || (await placeOf(paths)) === 'mount'
  const store = there ? await ensureStore(paths) : await inspectStore(paths)
  if (store.kind === 'btrfs' && process.getuid?.() === 0) await tighten(paths)
  return store
}

/** What is there, without changing anything. */
export async function inspectStore(paths: HostPaths): Promise<Store> {
  const root = process.getuid?.() === 0
  const place = await placeOf(paths)
  if (place === 'file') return { kind: 'btrfs', place, reason: null }
  if (place === null || (place === 'home' && !root)) {
    return directory(root ? 'no disk store is mounted: run `hearth setup`' : 'only root can mount a disk store')
  }
  const problem = await quotaProblem(paths).catch((error: Error) => error.message)
  return problem === null ? { kind: 'btrfs', place, reason: null } : directory(problem)
}

/** Deletes the store with all that is in it. What somebody else mounted stays mounted. */
export async function removeStore(paths: HostPaths): Promise<void> {
  const place = await placeOf(paths)
  if (place === 'file') await hostCommand('umount', [paths.store])
  else if (place !== null) await emptyStore(paths)
  await rm(imagePath(paths), { force: true })
}

async function makeStore(paths: HostPaths, environment: NodeJS.ProcessEnv): Promise<Store> {
  const now = await inspectStore(paths)
  if (now.kind === 'btrfs') return now
  const place = await placeOf(paths)
  if (place === 'mount') {
    await adoptMount(paths)
    return await inspectStore(paths)
  }
  // Quotas of a store in the home were switched off. A file that is mounted over it would hide what is in it.
  if (place === 'home' && (await readdir(paths.store)).length > 0) return now
  if (!(await exists(imagePath(paths)))) {
    if (environment['HEARTH_STORE_SIZE'] === undefined && (await canLieInHome(paths))) {
      await makeInHome(paths)
      return await inspectStore(paths)
    }
    await makeImage(paths, environment)
  }
  await mountImage(paths)
  return { kind: 'btrfs', place: 'file', reason: null }
}

/** The btrfs that the store is, whether or not it keeps limits; null for a directory, also one on a host whose disk is btrfs. */
async function placeOf(paths: HostPaths): Promise<StorePlace | null> {
  if (!(await exists(paths.store))) return null
  const mount = await mountAt(paths.store)
  const image = await exists(imagePath(paths))
  if (mount !== null) {
    if (mount.type !== 'btrfs') return null
    return image && mount.source.startsWith('/dev/loop') ? 'file' : 'mount'
  }
  return !image && (await isSubvolume(paths.store)) ? 'home' : null
}

/** SAFETY: sandboxes write what lies in it. Whoever mounted it, programs in it give nobody privileges, and nobody else comes to it. */
async function tighten(paths: HostPaths): Promise<void> {
  // A subvolume of the home is no mount; that nobody else comes to it is all that holds there.
  const options = (await mountAt(paths.store))?.options
  if (options !== undefined && !(options.includes('nosuid') && options.includes('nodev'))) {
    await hostCommand('mount', ['-o', 'remount,bind,nosuid,nodev,noatime', paths.store])
  }
  await chmod(paths.store, 0o700)
}

function directory(reason: string): Store {
  return { kind: 'directory', place: null, reason }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}
