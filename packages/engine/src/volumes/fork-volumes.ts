import { newVolumeId, type SandboxInfo, type VolumeId, type VolumeMount } from '@hearth/contract'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { capturedFiles, copyVolumes, nameVolumes, type VolumeCapture } from './captured-volumes.ts'
import type { StoredVolume } from './volume-files.ts'
import type { VolumeStore } from './volume-store.ts'

/**
 * The volumes of the children of one fork: each child gets a copy of each that the parent may write to, of the instant at which the parent was
 * captured. They are whole when the fork is: until they are kept, a crash leaves them to the sweep.
 */
export class ForkVolumes {
  readonly #store: VolumeStore
  readonly #guest: string
  readonly #parent: SandboxInfo
  readonly #made: StoredVolume[] = []

  constructor(store: VolumeStore, guest: string, parent: SandboxInfo) {
    this.#store = store
    this.#guest = guest
    this.#parent = parent
  }

  /** Whether there is anything to copy. */
  get any(): boolean {
    return this.#parent.volumes.some(({ readOnly }) => !readOnly)
  }

  get capture(): VolumeCapture {
    if (!this.any) return nameVolumes(this.#parent)
    return copyVolumes(this.#guest, this.#parent, ({ volume }) => this.#store.get(volume))
  }

  /** What a child has. `ids`: of its own volumes, in the order of those that the parent may write to. Default: new ones. */
  async ofChild(snapshot: StoredSnapshot, ids: readonly VolumeId[] = []): Promise<VolumeMount[]> {
    const own = [...ids]
    const mounts: VolumeMount[] = []
    for (const [index, mount] of this.#parent.volumes.entries()) {
      const volume = mount.readOnly ? mount.volume : await this.#copy(snapshot, index, own.shift() ?? newVolumeId())
      mounts.push({ ...mount, volume })
    }
    return mounts
  }

  async #copy({ id: fork, directory, manifest }: StoredSnapshot, index: number, id: VolumeId): Promise<VolumeId> {
    const { volume } = this.#parent.volumes[index] as VolumeMount
    const form = manifest.volumes[index]?.copy ?? 'directory'
    const { diskBytes } = this.#store.get(volume).manifest
    const source = { files: capturedFiles(directory, index), form, seen: true }
    this.#made.push(await this.#store.copy(id, source, { parent: volume, diskBytes, fork }))
    return id
  }

  /** The fork is complete, and they stay whatever becomes of the children. */
  async keep(): Promise<void> {
    for (const volume of this.#made) await this.#store.keep(volume)
  }

  /** There is no fork. Nobody has them any more. */
  async discard(): Promise<void> {
    for (const volume of this.#made) await this.#store.remove(volume, () => Promise.resolve())
  }
}
