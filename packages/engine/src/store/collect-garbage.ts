import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { MOST_BAKED } from '../drivers/microvm/baked-machine.ts'
import { collectBaked } from '../drivers/microvm/baked-store.ts'
import type { Hearth } from '../hearth.ts'
import { snapshotsDirectory } from './layers.ts'
import { SnapshotStore } from './snapshot-store.ts'

/** What was removed, by identifier, or digest for the roots of templates. */
export interface Garbage {
  /** Snapshots whose makers died. */
  readonly unfinished: readonly string[]
  /** Snapshots of forks whose children are gone, and of sandboxes that no longer sleep. */
  readonly forks: readonly string[]
  /** Files of sandboxes that are gone. */
  readonly areas: readonly string[]
  /** Roots that no name, no sandbox and no snapshot has. */
  readonly templates: readonly string[]
  /** MicroVMs that were booted once with another template, guest, kernel or QEMU than there is, and those that were never finished. */
  readonly baked: readonly string[]
}

/** Removes what nobody can use any more. What a sandbox or a snapshot refers to stays, and what another process is just making. */
export async function collectGarbage(hearth: Hearth): Promise<Garbage> {
  const { paths } = hearth
  const snapshots = new SnapshotStore(paths)
  const areas = join(paths.store, 'areas')
  const before = { snapshots: await list(snapshotsDirectory(paths)), areas: await list(areas) }
  const finished = new Set<string>((await snapshots.list()).map(({ id }) => id))
  await hearth.sweep()
  const templates = await hearth.templates.collect(await hearth.snapshots.templateDigests())
  const after = { snapshots: await list(snapshotsDirectory(paths)), areas: await list(areas) }
  const removed = before.snapshots.filter((id) => !after.snapshots.includes(id))
  return {
    unfinished: removed.filter((id) => !finished.has(id)),
    forks: removed.filter((id) => finished.has(id)),
    areas: before.areas.filter((id) => !after.areas.includes(id)),
    templates,
    // After the templates: those of a root that has just gone are of no use.
    baked: await collectBaked(paths.store, MOST_BAKED),
  }
}

async function list(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
