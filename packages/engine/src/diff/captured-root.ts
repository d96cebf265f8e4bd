import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import type { HostFacts } from '../host/facts.ts'
import type { HostPaths } from '../host/host.ts'
import type { StatInside } from '../machine/machine-changes.ts'
import { layersOf } from '../store/layers.ts'
import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import { readablePath } from './change-record.ts'
import { collectChanges, type ListedChange } from './list-changes.ts'
import { readChanges } from './read-changes.ts'
import type { StreamPart } from './record-stream.ts'
import { presentStates, UNLIMITED, type PresentState, type RootState, type SinceOptions } from './root-state.ts'
import type { TreeSide } from './tree-side.ts'

export interface CapturedRootOptions {
  readonly paths: HostPaths
  readonly facts: Pick<HostFacts, 'root'>
  /** The root of the template on the host. */
  readonly template: string
  /** What the sandbox is now; disposing of it gives it up. */
  readonly now: Capture
  /** Where times inside are not those on the host: what programs see at a path, and another capture. */
  readonly inside: { readonly stat: StatInside; readonly capture: () => Promise<Capture> } | null
}

export interface Capture extends AsyncDisposable {
  readonly snapshot: StoredSnapshot
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
        after: this.#side(this.#options.now.snapshot),
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
      after: { ...this.#side(this.#options.now.snapshot), subvolume: null },
      chosen: { paths, deep: false },
      ...(content ? { contentBytes: UNLIMITED } : {}),
      limits: { contentBytes: UNLIMITED },
      signal,
    })
  }

  async present(paths: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, PresentState>> {
    const { inside } = this.#options
    if (inside === null) return await presentStates(this, paths, signal)
    const [onHost, states] = await Promise.all([presentStates(this, paths, signal), statAll(inside.stat, paths)])
    // What was the same before and after, was so in between, when the sandbox was asked.
    await using later = await inside.capture()
    const changed = await collectChanges(
      readChanges({
        ...this.#common(),
        before: this.#side(this.#options.now.snapshot),
        after: this.#side(later.snapshot),
        chosen: { paths, deep: false },
        signal,
      }),
    )
    const first = changed[0]?.record
    if (first !== undefined)
      throw new HearthError('conflict', `${readablePath(first.path)} changed while it was merged`)
    // A file that its kernel forgot and looks up again has the host's time.
    return new Map([...states].map(([path, state]) => [path, withOtherTime(state, onHost.get(path))]))
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
    await this.#options.now[Symbol.asyncDispose]()
  }
}

function withOtherTime(state: PresentState, onHost: PresentState | undefined): PresentState {
  return onHost === undefined ? state : { ...state, otherModifiedNanoseconds: onHost.modifiedNanoseconds }
}

/** Questions under way at once. */
const AT_ONCE = 64

async function statAll(stat: StatInside, paths: readonly string[]): Promise<Map<string, PresentState>> {
  const states = new Map<string, PresentState>()
  for (let at = 0; at < paths.length; at += AT_ONCE) {
    const part = paths.slice(at, at + AT_ONCE)
    const found = await Promise.all(part.map((path) => stat(readablePath(path))))
    for (const [index, state] of found.entries()) if (state !== null) states.set(part[index] ?? '', state)
  }
  return states
}
