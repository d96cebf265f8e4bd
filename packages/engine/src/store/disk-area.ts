import { existsSync, renameSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { SandboxId } from '@hearth/contract'
import type { Step } from '../drivers/launch-plan.ts'
import type { DiskArea } from '../drivers/link-runtime.ts'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { OnProblem } from '../host/in-background.ts'
import { CloneStock } from './clone-stock.ts'
import { layersOf, layerSnapshot, MAXIMUM_LAYERS } from './layers.ts'
import { captureLayer } from './live-layer.ts'
import { openStore } from './disk-store.ts'
import type { CapturedDisk, StoredSnapshot } from './snapshot-manifest.ts'
import { groupOf, groupOfArea, SleepGroups, WAKE_ROOM_BYTES } from './sleep-groups.ts'
import { runStore } from './store-helper.ts'
import { Remembered } from '../host/remembered.ts'

/** The least size of a tmpfs: none at all would mean no limit. */
const PAGE_BYTES = 4096

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
  readonly #groups: SleepGroups
  readonly #kind = new Remembered(() => this.#findKind())

  /** `spares`: how many copies of a snapshot's files are made ahead of the next sandboxes. */
  constructor(paths: HostPaths, facts: HostFacts, spares: number, onProblem: OnProblem) {
    this.#paths = paths
    this.#facts = facts
    this.#stock = new CloneStock(paths, spares, onProblem)
    this.#groups = new SleepGroups(paths)
  }

  kind(): Promise<'quota' | 'memory'> {
    return this.#kind.get()
  }

  async #findKind(): Promise<'quota' | 'memory'> {
    if (!this.#facts.root || (await openStore(this.#paths)).kind !== 'btrfs') return 'memory'
    await mkdir(join(this.#paths.store, 'areas'), { recursive: true, mode: 0o700 })
    return 'quota'
  }

  /**
   * The area of a new sandbox: empty, or with the files of a snapshot; that of one that sleeps has those of its own. The limit is about what this
   * sandbox writes itself, before it slept too.
   */
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
    const left = Math.max(PAGE_BYTES, limitBytes - writtenAsleep(from))
    const steps = [{ kind: 'tmpfs', target: path, data: `size=${left},mode=0711` } as const]
    return { path, kind: 'memory', steps, layers }
  }

  #subvolumeArea(id: SandboxId, limitBytes: number, from: StoredSnapshot | null): DiskArea {
    const path = join(this.#paths.store, 'areas', id)
    const { begin, end } = this.#groupSteps(id, path, limitBytes, from)
    const area = { path, kind: 'quota', lastSteps: end } as const
    if (from?.manifest.disk.kind === 'subvolume') {
      const made =
        (from.manifest.kind === 'snapshot' && this.#stock.take(from, limitBytes, path)) ||
        (from.manifest.kind === 'hibernation' && takeSpare(sparePath(from, limitBytes), path))
      if (made) return { ...area, steps: begin, layers: [] }
      const source = from.still ?? diskOf(from)
      return { ...area, steps: [{ kind: 'clone', source, path, limitBytes }, ...begin], layers: [] }
    }
    // One that was copied, by another host or before this one had its btrfs, lies below a new area.
    const layers = from === null ? [] : layersOf(from, this.#paths)
    return { ...area, steps: [{ kind: 'subvolume', path, limitBytes }, ...begin], layers }
  }

  /**
   * What it wrote before it slept counts too; one that has used up its limit gets room for what its root is made with, and only for that. The
   * size of an image is its limit, and needs no group.
   */
  #groupSteps(
    id: SandboxId,
    path: string,
    limitBytes: number,
    from: StoredSnapshot | null,
  ): Record<'begin' | 'end', Step[]> {
    if (from?.manifest.kind !== 'hibernation' || limitBytes === 0) return { begin: [], end: [] }
    this.#groups.note(id)
    const step = { kind: 'group', path, group: groupOf(id) } as const
    return { begin: [{ ...step, limitBytes: limitBytes + WAKE_ROOM_BYTES }], end: [{ ...step, limitBytes }] }
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
    const diskBytes = Number(
      await runStore(this.#paths.guest, 'snapshot', place.path, target, 'ro', groupOfArea(basename(place.path))),
    )
    const disk: CapturedDisk =
      place.layers.length === 0 ? { kind: 'subvolume' } : { kind: 'layer', layers: place.layers.map(layerSnapshot) }
    return { disk, diskBytes }
  }

  /** Removes the area of a sandbox that has none any more. */
  async clear(id: SandboxId): Promise<void> {
    const path = join(this.#paths.store, 'areas', id)
    if (existsSync(path)) await this.remove({ path, kind: 'quota' })
  }

  /** Before a sandbox that falls asleep loses its area: what it has written goes on counting. */
  async keepCounting(id: SandboxId, limitBytes: number): Promise<void> {
    const path = join(this.#paths.store, 'areas', id)
    if ((await this.kind()) === 'quota' && isLimited(path)) await this.#groups.join(id, path, limitBytes)
  }

  /** Makes the files of a sandbox that sleeps in this snapshot, ahead of its wake, which waits for little else as long. */
  async spare(snapshot: StoredSnapshot, limitBytes: number): Promise<void> {
    const source = diskOf(snapshot)
    if (snapshot.manifest.disk.kind !== 'subvolume') return
    const limit = isLimited(source) ? limitBytes : 0
    const spare = sparePath(snapshot, limit)
    await runStore(this.#paths.guest, 'clone', source, spare, String(limit))
    if (limit !== 0) await this.#groups.join(snapshot.manifest.info.sandbox, spare, limit)
  }

  /** Has the blocks of removed areas and snapshots given back now, which btrfs does within half a minute: a limit may count them. */
  async reclaim(): Promise<void> {
    if ((await this.kind()) === 'quota') await runStore(this.#paths.guest, 'reclaim', this.#paths.store)
  }

  /** Forgets what a sandbox that is gone has written. */
  async forget(id: SandboxId): Promise<void> {
    await this.#groups.remove(id)
  }

  /** Removes what the quotas keep of areas and snapshots that are gone. */
  async tidy(): Promise<void> {
    if ((await this.kind()) === 'quota') await runStore(this.#paths.guest, 'groups-tidy', this.#paths.store)
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
    return Number(await runStore(this.#paths.guest, 'usage', place.path, groupOfArea(basename(place.path))))
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

/** What a sandbox that wakes has written already, and lies below what it writes from now on. */
function writtenAsleep(from: StoredSnapshot | null): number {
  return from?.manifest.kind === 'hibernation' ? from.manifest.info.diskBytes : 0
}

/** What is no overlay is an image, whose size is its limit. */
function isLimited(area: string): boolean {
  return existsSync(join(area, 'upper'))
}

function diskOf(snapshot: StoredSnapshot): string {
  return join(snapshot.directory, 'disk')
}
