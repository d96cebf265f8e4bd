import { mkdirSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { HearthError, snapshotIdSchema, type SnapshotId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { attempt, unheard, type OnProblem } from '../host/in-background.ts'
import { exportSnapshot } from './archive/export-snapshot.ts'
import { importSnapshot, type ImportOptions } from './archive/import-snapshot.ts'
import {
  claimDraft,
  GRACE_MS,
  isDraftOwned,
  readManifest,
  releaseDraft,
  retract,
  writeManifest,
} from './snapshot-files.ts'
import { snapshotsDirectory } from './layers.ts'
import { finishInBackground } from './memory-seal.ts'
import { isPassing, type SnapshotManifest, type StoredSnapshot } from './snapshot-manifest.ts'
import { SnapshotNames } from './snapshot-names.ts'
import { runStore, typedStoreError } from './store-helper.ts'
import { isTorn, markUnwritten } from './written-out.ts'

/** What is wrong with one whose host lost its power. */
export const TORN = 'was not written out when the host went down'

/** What `collect` removed. */
export interface Collected {
  /** Begun by processes that have died. */
  readonly unfinished: readonly SnapshotId[]
  /** Of forks whose last child has gone, and of sandboxes that no longer sleep. */
  readonly forks: readonly SnapshotId[]
}

/**
 * The snapshots of one home, a directory each. It is whole once it has a manifest, which is written last and never changed. Safe between
 * processes that share the home.
 */
export class SnapshotStore {
  readonly #paths: HostPaths
  readonly #directory: string
  readonly #onProblem: OnProblem
  readonly #names: SnapshotNames
  readonly #finishing = new Set<Promise<void>>()

  constructor(paths: HostPaths, onProblem: OnProblem = unheard) {
    this.#paths = paths
    this.#onProblem = onProblem
    this.#directory = snapshotsDirectory(paths)
    this.#names = new SnapshotNames(join(paths.store, 'names'))
  }

  /** Makes the directory of a snapshot that this process is going to fill. Nobody sees it before `commit`; when this process dies it is swept. */
  async draft(id: SnapshotId): Promise<{ readonly directory: string }> {
    const directory = this.#path(id)
    let made = false
    try {
      mkdirSync(this.#directory, { recursive: true, mode: 0o700 })
      mkdirSync(directory, { mode: 0o700 })
      made = true
      claimDraft(directory)
    } catch (error) {
      if (made) await this.discard(id)
      throw typedStoreError(error)
    }
    return { directory }
  }

  /** Makes a draft a snapshot. A name that another one has is refused with `conflict`, and the draft stays the caller's. */
  async commit(id: SnapshotId, manifest: SnapshotManifest): Promise<StoredSnapshot> {
    const directory = this.#path(id)
    const { name } = manifest.info
    if (manifest.info.id !== id) throw new HearthError('internal', `the manifest of ${id} is about ${manifest.info.id}`)
    if (name !== null) await this.#names.claim(name, id, async (other) => (await this.#find(other)) !== null)
    if (manifest.kind === 'snapshot') markUnwritten(directory, manifest)
    try {
      // A fork is of no use after the crash that would lose it.
      await writeManifest(directory, manifest, manifest.kind !== 'fork')
    } catch (error) {
      if (name !== null) await this.#names.release(name, id)
      throw typedStoreError(error)
    }
    releaseDraft(directory)
    // What passes soon is not worth the reading.
    if (!isPassing(manifest)) {
      const finishing = finishInBackground(directory, manifest, this.#onProblem)
      this.#finishing.add(finishing)
      void finishing.then(() => this.#finishing.delete(finishing))
    }
    return { id, directory, manifest }
  }

  /** Resolves when all that was committed is written out. */
  async settled(): Promise<void> {
    await Promise.all(this.#finishing)
  }

  /** Gives up a draft, whatever it holds. */
  async discard(id: SnapshotId): Promise<void> {
    await runStore(this.#paths.guest, 'remove', this.#path(id))
  }

  async get(idOrName: string): Promise<StoredSnapshot> {
    const id = snapshotIdSchema.safeParse(idOrName).data ?? (await this.#names.find(idOrName))
    const found = id === null ? null : await this.#read(id)
    if (found === null) throw new HearthError('snapshot_not_found', `there is no snapshot ${idOrName}`)
    return found
  }

  /** As `get`, for who makes a sandbox or an archive of it: refused when the host went down before it was written out. */
  async whole(idOrName: string): Promise<StoredSnapshot> {
    const found = await this.get(idOrName)
    if (isTorn(found.directory)) throw new HearthError('snapshot_corrupt', `snapshot ${found.id} ${TORN}`)
    return found
  }

  /** Oldest first, without those whose manifest is damaged, which `check` names. Those of forks too: a caller that lists for people leaves them out. */
  async list(): Promise<StoredSnapshot[]> {
    const found = await Promise.all((await this.#ids()).map((id) => this.#find(id)))
    return found.filter((snapshot) => snapshot !== null && snapshot !== 'damaged')
  }

  /** Refused with `snapshot_in_use` when the caller says so, or when another snapshot's files lie on top of its own. */
  async remove(id: SnapshotId, inUse: ReadonlySet<SnapshotId>): Promise<void> {
    const snapshot = await this.#find(id)
    if (snapshot === null) throw new HearthError('snapshot_not_found', `there is no snapshot ${id}`)
    if (inUse.has(id)) throw new HearthError('snapshot_in_use', `a sandbox was made from snapshot ${id}`)
    const dependent = (await this.list()).find(({ manifest }) => layersBelow(manifest).includes(id))
    if (dependent !== undefined)
      throw new HearthError('snapshot_in_use', `snapshot ${dependent.id} is made of what changed since ${id}`)
    if (snapshot === 'damaged') await this.discard(id)
    else await this.#remove(snapshot)
  }

  /** All that a snapshot is, but its template, as the bytes of one file. It must not be removed meanwhile. */
  export(snapshot: StoredSnapshot): AsyncGenerator<Uint8Array, void> {
    return exportSnapshot(snapshot, this, this.#paths)
  }

  /** What `export` wrote, here or elsewhere, as a new snapshot. Refused with `snapshot_corrupt`, and then nothing of it stays. */
  async import(source: AsyncIterable<Uint8Array>, options: ImportOptions = {}): Promise<StoredSnapshot> {
    return await importSnapshot(source, this, this.#paths, options)
  }

  /** Takes the memory out of a snapshot that sandboxes lie on. */
  async keepFiles(id: SnapshotId): Promise<void> {
    const { directory, manifest } = await this.get(id)
    const info = { ...manifest.info, memory: false, memoryBytes: 0 }
    await writeManifest(directory, { ...manifest, info, memory: null, interpreters: [] }, true)
    await this.dropMemory(id)
  }

  /** Takes the memory out of a fork's snapshot, when its children have it. */
  async dropMemory(id: SnapshotId): Promise<void> {
    await runStore(this.#paths.guest, 'remove', join(this.#path(id), 'memory'))
  }

  /** What cannot be removed is told, and keeps nothing else. Removes what nobody can use any more: drafts of dead processes, and snapshots of forks and of sleep that neither `inUse` nor another snapshot names. */
  async collect(inUse: ReadonlySet<SnapshotId>, graceMs?: number): Promise<Collected> {
    const unfinished: SnapshotId[] = []
    for (const id of await this.#ids()) {
      if ((await this.#find(id)) !== null || (await isDraftOwned(this.#path(id), graceMs))) continue
      if (await attempt(`removing ${this.#path(id)}`, () => this.discard(id), this.#onProblem)) unfinished.push(id)
    }
    const forks = await this.#collectPassed(inUse, graceMs)
    await this.#names.collect(
      async (id) => (await this.#find(id)) !== null || (await isDraftOwned(this.#path(id), graceMs)),
    )
    return { unfinished, forks }
  }

  async #collectPassed(inUse: ReadonlySet<SnapshotId>, graceMs = GRACE_MS): Promise<SnapshotId[]> {
    const kept = await this.list()
    const removed: SnapshotId[] = []
    // The youngest first: what lies on top goes before what it lies on.
    for (const snapshot of kept.toReversed()) {
      const { id, manifest } = snapshot
      const below = kept.some((other) => !removed.includes(other.id) && layersBelow(other.manifest).includes(id))
      // One that was just finished may have been named after `inUse` was read.
      const young = manifest.kind === 'hibernation' && Date.now() - manifest.info.createdAt.getTime() < graceMs
      if (!isPassing(manifest) || inUse.has(id) || below || young) continue
      if (await attempt(`removing snapshot ${id}`, () => this.#remove(snapshot), this.#onProblem)) removed.push(id)
    }
    return removed
  }

  /** Without its manifest it is nothing, and with a dead owner it is swept: a crash in between leaves no half snapshot. */
  async #remove({ id, directory, manifest }: StoredSnapshot): Promise<void> {
    try {
      claimDraft(directory)
    } catch (error) {
      // Where there is no room for the note it is swept a little later: what frees room must not need any.
      if (!HearthError.isInstance(typedStoreError(error))) throw error
    }
    await retract(directory)
    if (manifest.info.name !== null) await this.#names.release(manifest.info.name, id)
    await runStore(this.#paths.guest, 'remove', directory)
  }

  async #ids(): Promise<SnapshotId[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const ids = names.flatMap((name) => snapshotIdSchema.safeParse(name).data ?? [])
    return ids.toSorted((one, other) => (one < other ? -1 : 1))
  }

  async #read(id: SnapshotId): Promise<StoredSnapshot | null> {
    const directory = this.#path(id)
    const manifest = await readManifest(directory, id)
    return manifest === null ? null : { id, directory, manifest }
  }

  /** One that is damaged is there all the same: nobody but a person removes it, and it keeps nothing else from working. */
  async #find(id: SnapshotId): Promise<StoredSnapshot | 'damaged' | null> {
    return await this.#read(id).catch((error: unknown) => {
      if (HearthError.isInstance(error) && error.code === 'snapshot_corrupt') return 'damaged'
      throw error
    })
  }

  #path(id: SnapshotId): string {
    return join(this.#directory, id)
  }
}

export function layersBelow(manifest: SnapshotManifest): readonly SnapshotId[] {
  return manifest.disk.kind === 'layer' ? manifest.disk.layers : []
}
