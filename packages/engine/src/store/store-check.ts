import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, snapshotIdSchema, type SnapshotId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { waitingNames } from '../pool/sweep-pool.ts'
import { snapshotsDirectory } from './layers.ts'
import { hashMemory, readSeal, sealMemory } from './memory-seal.ts'
import { SUBVOLUME_INODE } from './native-store.ts'
import { isDraftOwned, readManifest } from './snapshot-files.ts'
import type { StoredSnapshot } from './snapshot-manifest.ts'
import { TORN } from './snapshot-store.ts'
import { isTorn, writeOut } from './written-out.ts'

export interface StoreProblem {
  /** `damaged`: it cannot be used as it is. `orphan`: nobody refers to it; `hearth store gc` removes it. */
  readonly kind: 'damaged' | 'orphan'
  /** A snapshot, or the area of a sandbox. */
  readonly id: string
  readonly problem: string
}

export interface StoreCheck {
  /** How many snapshots were looked at. */
  readonly snapshots: number
  /** Memory that had no checksum yet, because its maker ended too soon; it has one now. */
  readonly sealed: readonly SnapshotId[]
  readonly problems: readonly StoreProblem[]
}

/** Compares what the store says with what lies in it, and reads the memory of all snapshots. `sandboxes`: those that there are. */
export async function checkStore(paths: HostPaths, sandboxes: ReadonlySet<string>): Promise<StoreCheck> {
  const problems: StoreProblem[] = []
  const sealed: SnapshotId[] = []
  const names = await list(snapshotsDirectory(paths))
  let snapshots = 0
  for (const name of names) {
    const id = snapshotIdSchema.safeParse(name).data
    const directory = join(snapshotsDirectory(paths), name)
    const found = id === undefined ? 'it is not the name of a snapshot' : await read(id, directory)
    if (typeof found === 'string') {
      problems.push({ kind: 'damaged', id: name, problem: found })
    } else if (found === null) {
      if (!(await isDraftOwned(directory)))
        problems.push({ kind: 'orphan', id: name, problem: 'it was never finished' })
    } else {
      snapshots++
      if (isTorn(directory)) {
        problems.push({ kind: 'damaged', id: name, problem: `it ${TORN}` })
        continue
      }
      await writeOut(directory, found.manifest)
      for (const problem of await diskProblems(found, names)) problems.push({ kind: 'damaged', id: name, problem })
      const memory = await memoryProblem(found)
      if (memory === 'sealed') sealed.push(found.id)
      else if (memory !== null) problems.push({ kind: 'damaged', id: name, problem: memory })
    }
  }
  const known = new Set([...sandboxes, ...(await waitingNames(paths))])
  for (const name of await list(join(paths.store, 'areas'))) {
    if (!known.has(name)) problems.push({ kind: 'orphan', id: name, problem: 'its sandbox is gone' })
  }
  return { snapshots, sealed, problems }
}

/** The snapshot, null for a draft, or what is wrong. */
async function read(id: SnapshotId, directory: string): Promise<StoredSnapshot | null | string> {
  try {
    const manifest = await readManifest(directory, id)
    return manifest === null ? null : { id, directory, manifest }
  } catch (error) {
    if (HearthError.isInstance(error)) return error.message
    throw error
  }
}

async function diskProblems({ directory, manifest }: StoredSnapshot, names: readonly string[]): Promise<string[]> {
  const { disk } = manifest
  const found = await stat(join(directory, 'disk')).catch(() => null)
  if (found === null || !found.isDirectory()) return ['its disk is missing']
  if (disk.kind === 'subvolume' && found.ino !== SUBVOLUME_INODE) return ['its disk is not a subvolume any more']
  const missing = disk.kind === 'layer' ? disk.layers.filter((id) => !names.includes(id)) : []
  return missing.map((id) => `snapshot ${id}, which it lies on, is missing`)
}

/** What is wrong with its memory; `sealed` when it got its first checksums now. */
async function memoryProblem({ directory, manifest }: StoredSnapshot): Promise<string | null> {
  if (manifest.memory === null) return null
  const path = join(directory, 'memory')
  if ((await stat(path).catch(() => null)) === null) return 'its memory is missing'
  const seal = await readSeal(directory)
  if (seal === null) {
    await sealMemory(directory)
    return 'sealed'
  }
  const now = await hashMemory(path)
  const wrong = [...new Set([...Object.keys(seal), ...Object.keys(now)])].find(
    (name) => seal[name]?.sha256 !== now[name]?.sha256 || seal[name]?.bytes !== now[name]?.bytes,
  )
  return wrong === undefined ? null : `the file ${wrong} of its memory is not what was captured`
}

async function list(directory: string): Promise<string[]> {
  return await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}
