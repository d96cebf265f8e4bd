import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { HearthError, type SnapshotId, type VolumeId } from '@hearth/contract'
import type { HostPaths } from '../host/host.ts'
import { attempt, type OnProblem } from '../host/in-background.ts'
import { claimDraft, GRACE_MS, isDraftOwned, releaseDraft } from '../store/snapshot-files.ts'
import { runStore, typedStoreError } from '../store/store-helper.ts'
import {
  filesOf,
  hideVolume,
  markSeen,
  readVolume,
  volumeDirectory,
  volumeNames,
  volumesDirectory,
  wasSeen,
  writeVolume,
  type StoredVolume,
  type VolumeManifest,
} from './volume-files.ts'

/** Whoever runs in a sandbox can use a new volume: it holds nothing that one of its users would have to be kept from. */
const TOP_MODE = 0o777

type Described = Omit<VolumeManifest, 'version' | 'id' | 'createdAt' | 'form'>

/** The volumes of one home, a directory each. One is whole once it has its description, which is written last. Safe between processes that share the home. */
export class VolumeStore {
  readonly #paths: HostPaths

  constructor(paths: HostPaths) {
    this.#paths = paths
  }

  /** Null when there is none. */
  find(id: VolumeId): StoredVolume | null {
    return readVolume(this.#paths, id)
  }

  get(id: VolumeId): StoredVolume {
    const found = this.find(id)
    if (found === null)
      throw new HearthError('volume_not_found', `there is no volume ${id}`, { context: { volume: id } })
    return found
  }

  /** Oldest first, without those whose description is damaged, which a check names. */
  async list(): Promise<StoredVolume[]> {
    return (await volumeNames(this.#paths)).flatMap((id) => this.#findWhole(id) ?? [])
  }

  /** An empty one. */
  async create(id: VolumeId, form: VolumeManifest['form'], described: Described): Promise<StoredVolume> {
    return await this.#make(id, form, described, async (files) => {
      if (form === 'directory') mkdirSync(files)
      else await this.#store('subvolume-create', files)
      chmodSync(files, TOP_MODE)
      if (form === 'subvolume') await this.#store('limit', files, String(described.diskBytes))
    })
  }

  /** A copy of the files at a path, which nobody needs to keep still: each file is whole in it, on btrfs. */
  async copy(
    id: VolumeId,
    source: { readonly files: string; readonly form: VolumeManifest['form']; readonly seen: boolean },
    described: Described,
  ): Promise<StoredVolume> {
    return await this.#make(id, source.form, described, async (files, directory) => {
      // What a guest has made in it is as hostile in a copy.
      if (source.seen) markSeen(directory)
      await this.#copyFiles(source, files, described.diskBytes)
    })
  }

  async #copyFiles(
    source: { readonly files: string; readonly form: VolumeManifest['form'] },
    files: string,
    diskBytes: number,
  ): Promise<void> {
    if (source.form === 'subvolume') return void (await this.#store('clone', source.files, files, String(diskBytes)))
    mkdirSync(files, { mode: 0o700 })
    await this.#store('copy', '0', source.files, files, '0')
  }

  async #make(
    id: VolumeId,
    form: VolumeManifest['form'],
    described: Described,
    fill: (files: string, directory: string) => Promise<void>,
  ): Promise<StoredVolume> {
    const directory = volumeDirectory(this.#paths, id)
    mkdirSync(volumesDirectory(this.#paths), { recursive: true, mode: 0o700 })
    try {
      mkdirSync(directory, { mode: 0o700 })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw typedStoreError(error)
      throw new HearthError('conflict', `there was a volume ${id} before`, { suggestion: 'Use a new identifier.' })
    }
    const manifest = { version: 1, id, createdAt: new Date(), form, ...described } as const
    try {
      claimDraft(directory)
      await fill(filesOf(directory), directory)
      await writeVolume(directory, manifest)
      // One that was made for a fork is this process's until it is kept.
      if (described.fork === null) releaseDraft(directory)
    } catch (error) {
      await this.#store('remove', directory)
      throw typedStoreError(error)
    }
    return { id, directory, files: filesOf(directory), manifest }
  }

  /** It stays whatever becomes of its fork. */
  async keep({ directory, manifest }: StoredVolume): Promise<void> {
    await writeVolume(directory, { ...manifest, fork: null })
    releaseDraft(directory)
  }

  /** Those of forks whose makers have died: whether such a fork was complete tells its snapshot. */
  async abandoned(graceMs = GRACE_MS): Promise<(StoredVolume & { readonly fork: SnapshotId })[]> {
    const found: (StoredVolume & { readonly fork: SnapshotId })[] = []
    for (const volume of await this.list()) {
      const { fork } = volume.manifest
      if (fork !== null && !(await isDraftOwned(volume.directory, graceMs))) found.push({ ...volume, fork })
    }
    return found
  }

  /** `mayGo` says, when nobody can attach it any more, whether nobody has; it throws if somebody has, and then the volume stays. */
  async remove({ directory }: StoredVolume, mayGo: () => Promise<void>): Promise<void> {
    try {
      claimDraft(directory)
    } catch (error) {
      // Where there is no room for the note it is swept a little later: what frees room must not need any.
      if (!HearthError.isInstance(typedStoreError(error))) throw error
    }
    const hidden = await hideVolume(directory)
    try {
      await mayGo()
    } catch (error) {
      await hidden.putBack()
      releaseDraft(directory)
      throw error
    }
    await this.#store('remove', directory)
  }

  /** What there is of one that is not whole, whoever made it. */
  async removeRest(id: VolumeId): Promise<void> {
    const directory = volumeDirectory(this.#paths, id)
    if (existsSync(directory)) await this.#store('remove', directory)
  }

  /** Removes what dead processes have begun to make or to remove. What cannot be removed is told, and the rest goes all the same. */
  async collect(onProblem: OnProblem, graceMs = GRACE_MS): Promise<VolumeId[]> {
    const removed: VolumeId[] = []
    for (const id of await volumeNames(this.#paths)) {
      const directory = volumeDirectory(this.#paths, id)
      if (this.#findWhole(id) !== null || (await isDraftOwned(directory, graceMs))) continue
      // A damaged one is for a person to judge.
      if (this.isDamaged(id)) continue
      if (await attempt(`removing ${directory}`, () => this.#store('remove', directory), onProblem)) removed.push(id)
    }
    return removed
  }

  isDamaged(id: VolumeId): boolean {
    try {
      this.find(id)
      return false
    } catch (error) {
      if (HearthError.isInstance(error)) return true
      throw error
    }
  }

  isSeen({ directory }: StoredVolume): boolean {
    return wasSeen(directory)
  }

  #findWhole(id: VolumeId): StoredVolume | null {
    return this.isDamaged(id) ? null : this.find(id)
  }

  async #store(...words: readonly string[]): Promise<string> {
    return await runStore(this.#paths.guest, ...words)
  }
}
