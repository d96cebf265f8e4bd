import { capturedFiles } from '../volumes/captured-volumes.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { recordPath } from './change-record.ts'
import { DIFF_LIMITS, tooManyChanges } from './diff-limits.ts'
import type { ListedChange } from './list-changes.ts'
import type { StreamPart } from './record-stream.ts'
import { presentStates, type PresentState, type RootState, type SinceOptions } from './root-state.ts'
import type { VolumeState, VolumeTree } from './volume-tree.ts'

/**
 * A root together with the volumes that its sandbox may write to. What the fork of a sandbox changed in them is a part of its difference;
 * since the template, or since a snapshot, which volumes are no part of, they have none.
 */
export class RootWithVolumes implements RootState {
  readonly #root: RootState
  readonly #volumes: readonly VolumeTree[]
  readonly #copies: AsyncDisposable

  /** `copies`: what the volumes are looked at in. It goes with this. */
  constructor(root: RootState, volumes: readonly VolumeTree[], copies: AsyncDisposable) {
    this.#root = root
    this.#volumes = volumes
    this.#copies = copies
  }

  async changesSince(base: StoredSnapshot | null, options: SinceOptions): Promise<ListedChange[]> {
    const limits = { ...DIFF_LIMITS, ...options.limits }
    const own = await this.#root.changesSince(base, options)
    const all = own.filter(({ record }) => this.#at(record.path) === null)
    for (const volume of this.#volumes) {
      const before = base === null ? null : capturedVolume(base, volume.place)
      if (before !== null) all.push(...(await volume.changesSince(before, { ...options, limits: left(limits, all) })))
    }
    if (all.length > limits.changes) throw tooManyChanges()
    return all
  }

  async *read(paths: readonly string[], content: boolean, signal?: AbortSignal): AsyncGenerator<StreamPart, void> {
    yield* this.#root.read(
      paths.filter((path) => this.#at(path) === null),
      content,
      signal,
    )
    for (const volume of this.#volumes)
      yield* volume.read(
        paths.filter((path) => volume.holds(path)),
        content,
        signal,
      )
  }

  async present(paths: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, PresentState>> {
    const own = paths.filter((path) => this.#at(path) === null)
    const others = paths.filter((path) => this.#at(path) !== null)
    const [inRoot, inVolumes] = await Promise.all([
      own.length === 0 ? new Map<string, PresentState>() : this.#root.present(own, signal),
      presentStates(this, others, signal),
    ])
    return new Map([...inRoot, ...inVolumes])
  }

  #at(path: string): VolumeTree | null {
    return this.#volumes.find((volume) => volume.holds(path)) ?? null
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await using _root = this.#root
    await this.#copies[Symbol.asyncDispose]()
  }
}

/** What a volume at this place was at a fork; null when nobody copied it. */
function capturedVolume({ directory, manifest }: StoredSnapshot, place: string): VolumeState | null {
  // Only a fork has copies; the manifest of a snapshot may come from elsewhere and says nothing about files here.
  if (manifest.kind !== 'fork') return null
  const index = manifest.volumes.findIndex(({ path, copy }) => copy !== null && recordPath(path) === place)
  const found = manifest.volumes[index]
  return found === undefined ? null : { path: capturedFiles(directory, index), subvolume: found.copy === 'subvolume' }
}

/** One answer has one limit, however many trees it is about. */
function left(limits: Required<NonNullable<SinceOptions['limits']>>, so: readonly ListedChange[]): typeof limits {
  const content = so.reduce((sum, change) => sum + (change.content?.length ?? 0), 0)
  return {
    ...limits,
    changes: Math.max(0, limits.changes - so.length),
    contentBytes: Math.max(0, limits.contentBytes - content),
  }
}
