import { execFile } from 'node:child_process'
import { open, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { SnapshotManifest } from './snapshot-manifest.ts'

const execute = promisify(execFile)

/** Resolves when the snapshot would be there after a loss of power, with all that it holds. */
export async function syncSnapshot(directory: string, { disk, memory }: SnapshotManifest): Promise<void> {
  // btrfs has written a subvolume out before the call that copied it came back; a copy is many files.
  if (disk.kind !== 'subvolume') await execute('sync', ['--file-system', directory])
  const memories = memory === null ? [] : await readdir(join(directory, 'memory'))
  for (const name of memories) await syncFile(join(directory, 'memory', name))
  for (const path of [directory, dirname(directory)]) await syncFile(path)
}

export async function syncDirectory(directory: string): Promise<void> {
  await syncFile(directory)
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
