import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { HearthError, memoryRefused, type MemoryMode } from '@hearth/contract'
import type { Captured, WhileStill } from '../../machine/machine.ts'
import type { StoredSnapshot } from '../../store/snapshot-manifest.ts'
import type { MemoryTree } from './memory-tree.ts'
import { archiveTree, extractTree } from './tree-archive.ts'
import { TreeError } from './tree-node.ts'

const NO_PROCESSES = 'a simulated sandbox has no processes to capture'

function archivePath(directory: string): string {
  return join(directory, 'disk', 'root.tar')
}

/** Writes the tree as it is at this moment, whatever commands do to it meanwhile. */
export async function captureTree(
  tree: MemoryTree,
  directory: string,
  memory: MemoryMode,
  whileStill?: WhileStill,
): Promise<Captured> {
  if (memory === 'required') throw memoryRefused(NO_PROCESSES)
  const still = tree.clone()
  await whileStill?.alongside?.()
  await mkdir(join(directory, 'disk'), { mode: 0o700 })
  await pipeline(archiveTree(still, '/', undefined), createWriteStream(archivePath(directory), { mode: 0o600 }))
  return {
    outcome: { memory: false, reason: NO_PROCESSES },
    pausedMs: 0,
    disk: { kind: 'tree' },
    diskBytes: still.usedBytes,
    memory: null,
  }
}

/** Fills an empty tree with what was captured. */
export async function restoreTree(tree: MemoryTree, from: StoredSnapshot, hostname: string): Promise<void> {
  if (from.manifest.disk.kind !== 'tree') {
    throw new HearthError('snapshot_incompatible', `snapshot ${from.id} was not taken of a simulated sandbox`)
  }
  await extractTree(tree, '/', createReadStream(archivePath(from.directory)), undefined)
  own(() => {
    // Devices are not part of an archive.
    tree.makeDirectory('/dev', { parents: true })
    tree.remove('/dev/null', { force: true, recursive: true })
    tree.addSink('/dev/null')
  })
  own(() => tree.write('/etc/hostname', Buffer.from(`${hostname}\n`)))
}

/** What the new sandbox has of its own. Where the captured one had put something in its place, that stays. */
function own(change: () => void): void {
  try {
    change()
  } catch (error) {
    if (!(error instanceof TreeError)) throw error
  }
}
