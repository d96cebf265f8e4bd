import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { SnapshotManifest } from './snapshot-manifest.ts'
import { syncDirectory, syncSnapshot } from './sync-snapshot.ts'

const MARK = 'unwritten'

/**
 * Notes that files of a new snapshot may be in the memory of this host alone, where that is so: nobody waits for the disk. The note is there before the
 * manifest is, and goes when all is written out.
 */
export function markUnwritten(directory: string, { disk, memory }: SnapshotManifest): void {
  // btrfs has written a subvolume out already.
  if (disk.kind !== 'subvolume' || memory !== null) writeFileSync(join(directory, MARK), bootId(), { mode: 0o600 })
}

/** Writes out what is noted, so that it outlives a loss of power. */
export async function writeOut(directory: string, manifest: SnapshotManifest): Promise<void> {
  const mark = join(directory, MARK)
  if (!existsSync(mark)) return
  await syncSnapshot(directory, manifest)
  await rm(mark, { force: true })
  // Or it would be back after a loss of power, and the snapshot taken for torn.
  await syncDirectory(directory)
}

/** Whether the host went down before all of it was written out. What is in it then is what the disk happened to have. */
export function isTorn(directory: string): boolean {
  try {
    return readFileSync(join(directory, MARK), 'utf8') !== bootId()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}
