import type { StillCopy } from '../volumes/still-copies.ts'
import { isAtOrBelow } from './change-record.ts'
import { collectChanges, type ListedChange } from './list-changes.ts'
import { readChanges } from './read-changes.ts'
import type { StreamPart } from './record-stream.ts'
import { UNLIMITED, type SinceOptions } from './root-state.ts'
import type { TreeSide } from './tree-side.ts'

/** A state of a volume on the host that nothing changes. */
export type VolumeState = Pick<StillCopy, 'path' | 'subvolume'>

export function volumeSide({ path, subvolume }: VolumeState): TreeSide {
  return { layers: [path], subvolume: subvolume ? path : null }
}

/** A volume at its place in a sandbox. Paths are those of the sandbox. */
export class VolumeTree {
  readonly #guest: string
  /** Its place, as records have it. */
  readonly place: string
  readonly #now: VolumeState

  constructor(guest: string, place: string, now: VolumeState) {
    this.#guest = guest
    this.place = place
    this.#now = now
  }

  holds(path: string): boolean {
    return isAtOrBelow(path, this.place)
  }

  async changesSince(base: VolumeState, options: SinceOptions): Promise<ListedChange[]> {
    const { paths, contentBytes, limits, signal } = options
    const chosen = paths === null ? null : this.#within(paths)
    const found = await collectChanges(
      readChanges({
        guest: this.#guest,
        attributes: 'none',
        before: volumeSide(base),
        after: volumeSide(this.#now),
        chosen: chosen === null ? null : { paths: chosen, deep: true },
        ...(contentBytes === null ? {} : { contentBytes }),
        ...(limits === undefined ? {} : { limits }),
        signal,
      }),
    )
    return found.map(({ record, content }) => ({ record: { ...record, path: this.#outside(record.path) }, content }))
  }

  async *read(paths: readonly string[], content: boolean, signal?: AbortSignal): AsyncGenerator<StreamPart, void> {
    const parts = readChanges({
      guest: this.#guest,
      attributes: 'none',
      before: { layers: [], subvolume: null },
      after: { ...volumeSide(this.#now), subvolume: null },
      chosen: { paths: this.#within(paths), deep: false },
      ...(content ? { contentBytes: UNLIMITED } : {}),
      limits: { contentBytes: UNLIMITED },
      signal,
    })
    for await (const part of parts) {
      yield part.kind === 'record'
        ? { ...part, record: { ...part.record, path: this.#outside(part.record.path) } }
        : part
    }
  }

  /** What of these paths concerns it, seen from its own top; all of it for a path that it lies below. */
  #within(paths: readonly string[]): string[] {
    return paths.flatMap((path) => {
      if (isAtOrBelow(this.place, path)) return ['']
      return this.holds(path) ? [path.slice(this.place.length + 1)] : []
    })
  }

  #outside(path: string): string {
    return `${this.place}/${path}`
  }
}
