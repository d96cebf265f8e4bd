import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { HostPaths } from '../host/host.ts'
import { passingName, sweepPassing } from '../store/passing-names.ts'
import { runStore } from '../store/store-helper.ts'
import { copyStill } from './captured-volumes.ts'
import type { StoredVolume } from './volume-files.ts'

/** A copy of a volume that nobody changes, for the host to read. SAFETY: what is in it may be hostile: links lead anywhere, names are no text. */
export interface StillCopy extends AsyncDisposable {
  readonly path: string
  /** It is a read-only subvolume of btrfs, so that what changed is found fast. */
  readonly subvolume: boolean
}

function stillDirectory(paths: Pick<HostPaths, 'store'>): string {
  return join(paths.store, 'still')
}

/** Removes those of processes that have ended. */
export async function sweepStill(paths: HostPaths): Promise<void> {
  await sweepPassing(paths, stillDirectory(paths))
}

/** It belongs to this process; what a crash leaves of it is swept. */
export async function makeStill(paths: HostPaths, volume: StoredVolume): Promise<StillCopy> {
  const directory = stillDirectory(paths)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, passingName())
  const remove = async (): Promise<void> => void (await runStore(paths.guest, 'remove', path))
  try {
    await copyStill(paths.guest, volume, path)
  } catch (error) {
    await remove()
    throw error
  }
  return { path, subvolume: volume.manifest.form === 'subvolume', [Symbol.asyncDispose]: remove }
}
