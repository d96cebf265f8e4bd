import {
  BOUNDS,
  HearthError,
  newVolumeId,
  parseInput,
  volumeIdSchema,
  volumeOptionsSchema,
  type SandboxInfo,
  type SnapshotId,
  type VolumeId,
  type VolumeInfo,
  type VolumeOptions,
} from '@hearth/contract'
import type { AttachedVolume } from '../drivers/driver.ts'
import type { HostPaths } from '../host/host.ts'
import { runStore } from '../store/store-helper.ts'
import { ForkVolumes } from './fork-volumes.ts'
import { attempt, type OnProblem } from '../host/in-background.ts'
import { makeStill, sweepStill, type StillCopy } from './still-copies.ts'
import { compareStill, type VolumeChange, type VolumeChangesOptions } from './volume-changes.ts'
import { inUse, VolumeClaims, type Holders } from './volume-claims.ts'
import { markSeen, type StoredVolume } from './volume-files.ts'
import { VolumeStore } from './volume-store.ts'

export interface VolumesParts {
  readonly paths: HostPaths
  readonly holders: Holders
  /** Told of what cannot be removed. */
  readonly onProblem: OnProblem
  /** Whether the store can make subvolumes with a limit. */
  readonly hasQuotas: () => Promise<boolean>
}

/** Directories of one home that outlive every sandbox, and that one at a time may write to. */
export class Volumes {
  readonly #parts: VolumesParts
  readonly #store: VolumeStore

  constructor(parts: VolumesParts) {
    this.#parts = parts
    this.#store = new VolumeStore(parts.paths)
  }

  /** An empty one. */
  async create(options: VolumeOptions = {}): Promise<VolumeInfo> {
    const { id = newVolumeId(), diskBytes = BOUNDS.volumeDiskBytes } = parseInput(
      volumeOptionsSchema,
      options,
      'options',
    )
    const form = (await this.#parts.hasQuotas()) ? 'subvolume' : 'directory'
    return await this.#describe(await this.#store.create(id, form, { parent: null, diskBytes, fork: null }))
  }

  /** A copy, which shares its bytes with the source on btrfs, whatever their number. Also of one that is attached: each file is whole. */
  async clone(source: string, options: VolumeOptions = {}): Promise<VolumeInfo> {
    const volume = await this.#get(source)
    const { id = newVolumeId(), diskBytes = volume.manifest.diskBytes } = parseInput(
      volumeOptionsSchema,
      options,
      'options',
    )
    const { files, manifest } = volume
    const from = { files, form: manifest.form, seen: this.#store.isSeen(volume) }
    return await this.#describe(await this.#store.copy(id, from, { parent: volume.id, diskBytes, fork: null }))
  }

  /** Null when there is none. */
  async info(id: string): Promise<VolumeInfo | null> {
    await this.#parts.hasQuotas()
    const found = this.#store.find(parseInput(volumeIdSchema, id, 'volume'))
    return found === null ? null : await this.#describeIfThere(found)
  }

  /** Oldest first. */
  async list(): Promise<VolumeInfo[]> {
    await this.#parts.hasQuotas()
    const found = await Promise.all((await this.#store.list()).map((volume) => this.#describeIfThere(volume)))
    return found.filter((info) => info !== null)
  }

  /**
   * A copy of one instant for the host to read, which no guest can change under the reader. SAFETY: what is in it may be hostile; no link in
   * it may be followed and no program may take it for its own. It goes when it is disposed of; a crash leaves it to the sweep.
   */
  async still(id: string): Promise<StillCopy> {
    return await makeStill(this.#parts.paths, await this.#get(id))
  }

  /**
   * Lets the host, and only the host, put files into a volume that no guest has seen yet. Refused with `invalid_state` once it was
   * attached: what a guest has left there could lead the host's writes elsewhere.
   */
  async fill(id: string, work: (path: string) => Promise<void>): Promise<void> {
    const volume = await this.#get(id)
    using _claim = await this.#claims(volume).fill()
    if (this.#store.isSeen(this.#store.get(volume.id)))
      throw new HearthError('invalid_state', `volume ${volume.id} was attached to a sandbox already`, {
        suggestion: 'Fill a new volume, or write through the sandbox that has this one.',
      })
    await work(volume.files)
  }

  /** Paths that differ from another volume, or between still copies, in the order of a walk. */
  async changes(
    volume: string | StillCopy,
    since: string | StillCopy,
    options: VolumeChangesOptions = {},
  ): Promise<VolumeChange[]> {
    await using made = new AsyncDisposableStack()
    const stillOf = async (given: string | StillCopy): Promise<StillCopy> =>
      typeof given === 'string' ? made.use(await this.still(given)) : given
    const before = await stillOf(since)
    return await compareStill(this.#parts.paths.guest, before, await stillOf(volume), options)
  }

  /** Refused with `volume_in_use` while a sandbox has it, also one that only reads it or that sleeps. */
  async remove(id: string): Promise<void> {
    const volume = await this.#get(id)
    await this.#store.remove(volume, () => this.#refuseHeld(volume))
  }

  /** Removes whatever there is of it, also of one that is not whole. Idempotent; refused as `remove` is. */
  async discard(id: string): Promise<void> {
    const volume = parseInput(volumeIdSchema, id, 'volume')
    await this.#parts.hasQuotas()
    const found = this.#store.find(volume)
    if (found === null) await this.#store.removeRest(volume)
    else await this.#store.remove(found, () => this.#refuseHeld(found))
  }

  /** Of all that are whole, oldest first. */
  async ids(): Promise<VolumeId[]> {
    await this.#parts.hasQuotas()
    return (await this.#store.list()).map(({ id }) => id)
  }

  /** Gives a sandbox that is written down its volumes, all or none. What it held before it slept it has still. */
  async attach({ id, volumes }: SandboxInfo): Promise<AttachedVolume[]> {
    const attached: AttachedVolume[] = []
    for (const { volume, path, readOnly } of volumes) {
      const claims = this.#claims(this.#store.get(volume))
      await (readOnly ? claims.read(id) : claims.write(id))
      // Whoever removes it hides it before it looks at the claims: one of both sees the other.
      const { directory, files } = this.#store.get(volume)
      markSeen(directory)
      attached.push({ path, readOnly, files })
    }
    return attached
  }

  /** Those of the children of a fork of this sandbox. */
  forkOf(parent: SandboxInfo): ForkVolumes {
    return new ForkVolumes(this.#store, this.#parts.paths.guest, parent)
  }

  /** Keeps those of forks that are complete although their makers died. Before anything else is swept: the snapshot of such a fork may go with its children. */
  async settle(isComplete: (fork: SnapshotId) => Promise<boolean>, graceMs?: number): Promise<void> {
    for (const volume of await this.#store.abandoned(graceMs)) {
      if (await isComplete(volume.fork)) await this.#store.keep(volume)
    }
  }

  /** Removes what crashes have left, when it has been settled what stays and the sandboxes have been swept. */
  async sweep(graceMs?: number): Promise<void> {
    const { paths, onProblem } = this.#parts
    await attempt('removing copies of volumes', () => sweepStill(paths), onProblem)
    for (const volume of await this.#store.abandoned(graceMs)) {
      const remove = (): Promise<void> => this.#store.remove(volume, () => this.#refuseHeld(volume)).catch(leaveHeld)
      await attempt(`removing volume ${volume.id}`, remove, onProblem)
    }
    await this.#store.collect(onProblem, graceMs)
  }

  async #get(id: string): Promise<StoredVolume> {
    const volume = parseInput(volumeIdSchema, id, 'volume')
    // After a reboot the store is not mounted, and what lies in it would look lost.
    await this.#parts.hasQuotas()
    return this.#store.get(volume)
  }

  async #refuseHeld({ id, directory }: StoredVolume): Promise<void> {
    const claims = new VolumeClaims(id, directory, this.#parts.holders)
    const holder = (await claims.writer()) ?? (await claims.readers())[0]
    if (holder !== undefined) throw inUse(id, holder)
  }

  #claims({ id, directory }: StoredVolume): VolumeClaims {
    return new VolumeClaims(id, directory, this.#parts.holders)
  }

  async #describeIfThere(volume: StoredVolume): Promise<VolumeInfo | null> {
    return await this.#describe(volume).catch((error: unknown) => {
      if (this.#store.find(volume.id) === null) return null
      throw error
    })
  }

  async #describe(volume: StoredVolume): Promise<VolumeInfo> {
    const { id, files, manifest } = volume
    const { createdAt, parent, diskBytes, form } = manifest
    const claims = this.#claims(volume)
    const [writer, readBy, used] = await Promise.all([
      claims.writer(),
      claims.readers(),
      runStore(this.#parts.paths.guest, form === 'subvolume' ? 'usage' : 'bytes', files),
    ])
    return {
      id,
      createdAt,
      parent,
      diskBytes,
      limited: form === 'subvolume',
      usedBytes: Number(used),
      attachedTo: writer === 'host' ? null : writer,
      readBy,
    }
  }
}

/** Its sandbox goes first; the next sweep removes it. */
function leaveHeld(error: unknown): void {
  if (!HearthError.isInstance(error) || error.code !== 'volume_in_use') throw error
}
