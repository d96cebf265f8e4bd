import { join } from 'node:path'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import { layersOf } from '../store/layers.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { collectChanges, type ListedChange } from './list-changes.ts'
import { readChanges } from './read-changes.ts'
import type { StreamPart } from './record-stream.ts'
import { UNLIMITED, type RootState, type SinceOptions } from './root-state.ts'
import type { TreeSide } from './tree-side.ts'

export interface CapturedRootOptions {
  readonly paths: HostPaths
  readonly facts: Pick<HostFacts, 'root'>
  /** The root of the template on the host. */
  readonly template: string
  /** What the sandbox is now. */
  readonly now: StoredSnapshot
  /** Gives the capture up. */
  readonly discard: () => Promise<void>
}

/** A root whose changed files lie on the host: looked at in a capture, which nothing inside can change meanwhile. */
export class CapturedRoot implements RootState {
  readonly #options: CapturedRootOptions

  constructor(options: CapturedRootOptions) {
    this.#options = options
  }

  async changesSince(base: StoredSnapshot | null, options: SinceOptions): Promise<ListedChange[]> {
    const { paths, contentBytes, limits, signal } = options
    return await collectChanges(
      readChanges({
        ...this.#common(),
        before: this.#side(base),
        after: this.#side(this.#options.now),
        chosen: paths === null ? null : { paths, deep: true },
        ...(contentBytes === null ? {} : { contentBytes }),
        ...(limits === undefined ? {} : { limits }),
        signal,
      }),
    )
  }

  read(paths: readonly string[], content: boolean, signal?: AbortSignal): AsyncIterable<StreamPart> {
    return readChanges({
      ...this.#common(),
      before: { layers: [], subvolume: null },
      after: { ...this.#side(this.#options.now), subvolume: null },
      chosen: { paths, deep: false },
      ...(content ? { contentBytes: UNLIMITED } : {}),
      limits: { contentBytes: UNLIMITED },
      signal,
    })
  }

  #common(): { guest: string; attributes: 'trusted' | 'user' } {
    return { guest: this.#options.paths.guest, attributes: this.#options.facts.root ? 'trusted' : 'user' }
  }

  #side(snapshot: StoredSnapshot | null): TreeSide {
    const { template, paths } = this.#options
    if (snapshot === null) return { layers: [template], subvolume: null }
    const subvolume = snapshot.manifest.disk.kind === 'subvolume' ? join(snapshot.directory, 'disk') : null
    return { layers: [...layersOf(snapshot, paths), template], subvolume }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#options.discard()
  }
}
