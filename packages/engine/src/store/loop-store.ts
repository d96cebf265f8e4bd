import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { HostPaths } from '../host/host.ts'
import { BuildLock } from '../templates/build-lock.ts'

const execute = promisify(execFile)

const MiB = 1024 * 1024
const GiB = 1024 * MiB
/** Making a store takes seconds; who waits this long for another process waits for nothing. */
const LOCK_WAIT_MS = 60_000
const BTRFS_MAGIC = 0x9123_683e
const DEFAULT_BYTES = 8 * GiB
/** Below this btrfs has too little room for its own metadata. */
const MINIMUM_BYTES = 256 * MiB
/** Set-up programs live here; a caller's PATH may lack it. */
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type Store =
  | { readonly kind: 'btrfs'; readonly reason: null }
  /** A plain directory: there is no quota on disk, so disk limits are kept in memory. */
  | { readonly kind: 'directory'; readonly reason: string }

/**
 * Makes sure that `paths.store` is a btrfs with quotas, on a file of fixed size whose blocks are all allocated ahead, so that
 * neither sandboxes can fill the host's disk nor the host can take space away under them. Mounts it again after a reboot.
 * Never throws for what a host cannot do: then it is a directory, with the reason.
 */
export async function ensureStore(paths: HostPaths, environment: NodeJS.ProcessEnv = process.env): Promise<Store> {
  await mkdir(paths.store, { recursive: true, mode: 0o700 })
  const now = await inspectStore(paths)
  if (now.kind === 'btrfs' || process.getuid?.() !== 0) return now
  const limit = AbortSignal.timeout(LOCK_WAIT_MS)
  await using _lock = await BuildLock.acquire(join(paths.home, 'locks'), 'store', limit, () => undefined)
  return await mountStore(paths, environment)
}

/** Mounts a store that the set-up made, for example after a reboot, and makes none. */
export async function openStore(paths: HostPaths): Promise<Store> {
  const store = (await exists(imagePath(paths))) ? await ensureStore(paths) : await inspectStore(paths)
  if (store.kind === 'btrfs' && process.getuid?.() === 0) await tighten(paths)
  return store
}

/** SAFETY: sandboxes write what lies in it. Whoever mounted it, programs in it give nobody privileges, and nobody else comes to it. */
async function tighten(paths: HostPaths): Promise<void> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '))
  const options = mounts.findLast(([, target]) => target === paths.store)?.[3]?.split(',') ?? []
  if (!options.includes('nosuid') || !options.includes('nodev')) {
    await command('mount', ['-o', 'remount,bind,nosuid,nodev,noatime', paths.store])
  }
  await chmod(paths.store, 0o700)
}

/** What is there, without changing anything. */
export async function inspectStore(paths: HostPaths): Promise<Store> {
  if (await isMounted(paths)) return { kind: 'btrfs', reason: null }
  if (process.getuid?.() !== 0) return { kind: 'directory', reason: 'only root can mount a disk store' }
  return { kind: 'directory', reason: 'no disk store is mounted: run `npm run setup`' }
}

/** Unmounts the store and deletes it with all that is in it. */
export async function removeStore(paths: HostPaths): Promise<void> {
  if (await isMounted(paths)) await command('umount', [paths.store])
  await rm(imagePath(paths), { force: true })
}

async function mountStore(paths: HostPaths, environment: NodeJS.ProcessEnv): Promise<Store> {
  if (await isMounted(paths)) return { kind: 'btrfs', reason: null }
  try {
    const image = imagePath(paths)
    if (!(await exists(image))) await makeImage(paths, image, await storeBytes(paths, environment))
    // nodiscard: a discard would punch holes into the file and give its blocks back to the host.
    await command('mount', ['-t', 'btrfs', '-o', 'loop,noatime,nodiscard,nosuid,nodev', image, paths.store])
    await tighten(paths)
    await command(paths.guest, ['store', 'quota-enable', paths.store])
    return { kind: 'btrfs', reason: null }
  } catch (error) {
    // A store without quotas would look like one that keeps limits.
    if (await isMounted(paths)) await command('umount', [paths.store])
    return { kind: 'directory', reason: describe(error) }
  }
}

async function makeImage(paths: HostPaths, image: string, bytes: number): Promise<void> {
  const unfinished = join(paths.home, 'store.img.unfinished')
  await rm(unfinished, { force: true })
  try {
    await command('fallocate', ['--length', String(bytes), unfinished])
    await chmod(unfinished, 0o600)
    await command('mkfs.btrfs', ['--quiet', '--nodiscard', '--metadata', 'single', '--data', 'single', unfinished])
    await rename(unfinished, image)
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** `HEARTH_STORE_SIZE`, or 8 GiB, but by default never more than a quarter of what is free. */
async function storeBytes(paths: HostPaths, environment: NodeJS.ProcessEnv): Promise<number> {
  const free = await statfs(paths.home).then(({ bavail, bsize }) => bavail * bsize)
  const wanted = environment['HEARTH_STORE_SIZE']
  const bytes = wanted === undefined ? Math.min(DEFAULT_BYTES, Math.floor(free / 4)) : parseStoreSize(wanted)
  if (bytes < MINIMUM_BYTES) throw new Error(`a store of ${Math.floor(bytes / MiB)} MiB is too small; it needs 256 MiB`)
  if (bytes > free) throw new Error(`${Math.floor(free / MiB)} MiB are free, which is less than HEARTH_STORE_SIZE`)
  return bytes - (bytes % MiB)
}

function parseStoreSize(text: string): number {
  const match = /^(\d{1,6})(M|G)$/.exec(text)
  if (match === null) throw new Error(`HEARTH_STORE_SIZE is '${text}', but must be like 512M or 8G`)
  return Number(match[1]) * (match[2] === 'M' ? MiB : GiB)
}

/** A file system of its own, not merely a directory on a host whose disk is btrfs. */
async function isMounted(paths: HostPaths): Promise<boolean> {
  if (!(await exists(paths.store))) return false
  const [{ type }, store, home] = await Promise.all([statfs(paths.store), stat(paths.store), stat(paths.home)])
  return type === BTRFS_MAGIC && store.dev !== home.dev
}

function imagePath(paths: HostPaths): string {
  return join(paths.home, 'store.img')
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  )
}

async function command(program: string, args: readonly string[]): Promise<void> {
  await execute(program, args, { env: { PATH, LC_ALL: 'C' }, timeout: 60_000 })
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const said = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : ''
  return said === '' ? error.message : said.replaceAll('\n', ' ')
}
