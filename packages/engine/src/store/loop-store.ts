import { chmod, rename, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { hostCommand } from './host-command.ts'
import { isBtrfs } from './native-store.ts'
import { runStore } from './store-helper.ts'

const MiB = 1024 * 1024
const GiB = 1024 * MiB
const DEFAULT_BYTES = 8 * GiB
/** Below this btrfs has too little room for its own metadata. */
const MINIMUM_BYTES = 256 * MiB

export function imagePath(paths: HostPaths): string {
  return join(paths.home, 'store.img')
}

/** Mounts the file, and unmounts it again when its quotas cannot be enabled: a store without them would look like one that keeps limits. */
export async function mountImage(paths: HostPaths): Promise<void> {
  // nodiscard: a discard would punch holes into the file and give its blocks back to the host.
  const options = 'loop,noatime,nodiscard,nosuid,nodev'
  await hostCommand('mount', ['-t', 'btrfs', '-o', options, imagePath(paths), paths.store])
  try {
    await runStore(paths.guest, 'quota-enable', paths.store)
  } catch (error) {
    await hostCommand('umount', [paths.store])
    throw error
  }
}

/** Makes the file with a btrfs in it, whose blocks are all allocated. */
export async function makeImage(paths: HostPaths, environment: NodeJS.ProcessEnv): Promise<void> {
  const bytes = await storeBytes(paths, environment)
  const unfinished = join(paths.home, 'store.img.unfinished')
  await rm(unfinished, { force: true })
  try {
    // With copy-on-write each change would need new blocks, which a full host does not have, whatever was allocated ahead.
    if (await isBtrfs(paths.home)) await runStore(paths.guest, 'in-place-file', unfinished)
    await hostCommand('fallocate', ['--length', String(bytes), unfinished])
    await chmod(unfinished, 0o600)
    await hostCommand('mkfs.btrfs', ['--quiet', '--nodiscard', '--metadata', 'single', '--data', 'single', unfinished])
    await rename(unfinished, imagePath(paths))
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
