import { existsSync, renameSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SandboxId } from '@hearth/contract'
import type { DiskArea } from '../drivers/link-runtime.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { OnProblem } from '../host/in-background.ts'
import { CloneStock } from './clone-stock.ts'
import { layersOf, layerSnapshot, MAXIMUM_LAYERS } from './layers.ts'
import { captureLayer } from './live-layer.ts'
import { openStore } from './disk-store.ts'
import type { CapturedDisk, StoredSnapshot } from './snapshot-manifest.ts'
import { runStore } from './store-helper.ts'
import { Remembered } from '../host/remembered.ts'

/** Where the writable bytes of a sandbox lie. Written down with what the host holds for it. */
export type AreaPlace = Pick<DiskArea, 'path' | 'kind' | 'layers'>

/** `files`: directories of an overlay. `image`: files of the runtime's own, for example a disk; the area is not limited. */
export type AreaForm = 'files' | 'image'

export interface CapturedArea {
  readonly disk: CapturedDisk
  /** What the sandbox has written itself, as far as the store can tell. */
  readonly diskBytes: number
}

/**
 * Hands out the writable bytes of sandboxes, with the strongest limit that this host can keep, and captures them. On btrfs an area is
 * a subvolume, and both ways are snapshots of it. Elsewhere its files are in memory, and a capture copies what changed.
 */
export class DiskAreas {
  readonly #paths: HostPaths
  readonly #facts: HostFacts
  readonly #stock: CloneStock
  readonly #kind = new Remembered(() => this.#findKind())

  /** `spares`: how many copies of a snapshot's files are made ahead of the next sandboxes. */
  constructor(paths: HostPaths, facts: HostFacts, spares: number, onProblem: OnProblem) {
    this.#paths = paths
    this.#facts = facts
    this.#stock = new CloneStock(paths, spares, onProblem)
  }

  kind(): Promise<'quota' | 'memory'> {
    return this.#kind.get()
  }

  async #findKind(): Promise<'quota' | 'memory'> {
    if (!this.#facts.root || (await openStore(this.#paths)).kind !== 'btrfs') return 'memory'
    await mkdir(join(this.#paths.store, 'areas'), { recursive: true, mode: 0o700 })
    return 'quota'
  }

  /** The area of a new sandbox: empty, or with the files of a snapshot. The limit is about what this sandbox writes itself. */
  async area(
    id: SandboxId,
    directory: string,
    limitBytes: number,
    from: StoredSnapshot | null,
    form: AreaForm = 'files',
  ): Promise<DiskArea> {
    const quota = (await this.kind()) === 'quota'
    if (form === 'image') return await this.#imageArea(id, directory, from, quota)
    if (quota) return this.#subvolumeArea(id, limitBytes, from)
    const layers = from === null ? [] : layersOf(from, this.#paths)
    // Seen only inside the keeper's mount namespace: it vanishes with the sandbox.
    const path = join(directory, 'disk')
    await mkdir(path, { mode: 0o711 })
    const steps = [{ kind: 'tmpfs', target: path, data: `size=${limitBytes},mode=0711` } as const]
    return { path, kind: 'memory', steps, layers }
  }

  #subvolumeArea(id: SandboxId, limitBytes: number, from: StoredSnapshot | null): DiskArea {
    const path = join(this.#paths.store, 'areas', id)
    if (from?.manifest.disk.kind === 'subvolume') {
      const made =
        (from.manifest.kind === 'snapshot' && this.#stock.take(from, limitBytes, path)) ||
        (from.manifest.kind === 'hibernation' && takeSpare(sparePath(from, limitBytes), path))
      if (made) return { path, kind: 'quota', steps: [], layers: [] }
      const source = from.still ?? diskOf(from)
      return { path, kind: 'quota', steps: [{ kind: 'clone', source, path, limitBytes }], layers: [] }
    }
    // One that was copied, by another host or before this one had its btrfs, lies below a new area.
    const layers = from === null ? [] : layersOf(from, this.#paths)
    return { path, kind: 'quota', steps: [{ kind: 'subvolume', path, limitBytes }], layers }
  }

  async #imageArea(id: SandboxId, directory: string, from: StoredSnapshot | null, quota: boolean): Promise<DiskArea> {
    // Its limit is the size of the image.
    const subvolume = from === null || from.manifest.disk.kind === 'subvolume'
    if (quota && subvolume) return this.#subvolumeArea(id, 0, from)
    const path = quota ? join(this.#paths.store, 'areas', id) : join(directory, 'disk')
    if (quota) await runStore(this.#paths.guest, 'subvolume-create', path)
    else await mkdir(path, { mode: 0o700 })
    if (from !== null) await runStore(this.#paths.guest, 'copy', '0', diskOf(from), path, '0')
    return { path, kind: quota ? 'quota' : 'none', steps: [], layers: [] }
  }

  /**
   * Captures the files of a sandbox into `disk` of a snapshot's directory. Each file is whole in it whatever the sandbox does meanwhile, on btrfs; but
   * files are of one instant only when the sandbox stands still, because btrfs too writes them out one after the other. On failure nothing stays.
   */
  async capture(place: AreaPlace, idBase: number | null, directory: string): Promise<CapturedArea> {
    const target = join(directory, 'disk')
    const cloned = place.kind === 'quota' && place.layers.length + 1 < MAXIMUM_LAYERS
    if (!cloned) return await captureLayer(this.#paths, place, idBase, target)
    // One process for both: a machine may stand still for it.
    const diskBytes = Number(await runStore(this.#paths.guest, 'snapshot', place.path, target, 'ro'))
    const disk: CapturedDisk =
      place.layers.length === 0 ? { kind: 'subvolume' } : { kind: 'layer', layers: place.layers.map(layerSnapshot) }
    return { disk, diskBytes }
  }

  /** Removes the area of a sandbox that has none any more. */
  async clear(id: SandboxId): Promise<void> {
    const path = join(this.#paths.store, 'areas', id)
    if (existsSync(path)) await this.remove({ path, kind: 'quota' })
  }

  /** Makes the files of a sandbox that sleeps in this snapshot, ahead of its wake, which waits for little else as long. */
  async spare(snapshot: StoredSnapshot, limitBytes: number): Promise<void> {
    const source = diskOf(snapshot)
    if (snapshot.manifest.disk.kind !== 'subvolume') return
    // What is no overlay is an image, whose size is its limit.
    const limit = existsSync(join(source, 'upper')) ? limitBytes : 0
    await runStore(this.#paths.guest, 'clone', source, sparePath(snapshot, limit), String(limit))
  }

  /** Writes out what is in memory alone, which a capture would do. */
  async flush(place: Pick<AreaPlace, 'path' | 'kind'>): Promise<void> {
    if (place.kind === 'quota') await runStore(this.#paths.guest, 'sync', place.path)
  }

  /** Makes ready what the next sandboxes of snapshots that were just used begin with. */
  async fill(): Promise<void> {
    await this.#stock.fill()
  }

  /** Removes what was made ahead of need. */
  async dispose(): Promise<void> {
    await this.#stock.dispose()
  }

  /** Bytes that the sandbox holds of its limit; null where only the guest can tell. */
  async usedBytes(place: Pick<AreaPlace, 'path' | 'kind'>): Promise<number | null> {
    if (place.kind !== 'quota') return null
    return Number(await runStore(this.#paths.guest, 'usage', place.path))
  }

  async remove(place: Pick<AreaPlace, 'path' | 'kind'>): Promise<void> {
    if (place.kind !== 'quota') return
    // A subvolume goes in constant time; what is not one (a crash before the step), or is gone already, is removed as any directory.
    await runStore(this.#paths.guest, 'subvolume-delete', place.path).catch(() =>
      runStore(this.#paths.guest, 'remove', place.path),
    )
  }
}

/** The limit is in its name: one that was made for another is not taken. */
function sparePath({ directory }: StoredSnapshot, limitBytes: number): string {
  return join(directory, `spare-${limitBytes}`)
}

function takeSpare(spare: string, target: string): boolean {
  try {
    renameSync(spare, target)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
    throw error
  }
}

function diskOf(snapshot: StoredSnapshot): string {
  return join(snapshot.directory, 'disk')
}
