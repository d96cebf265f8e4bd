import { join } from 'node:path'

/** One state of a root as it lies on the host: the layers of an overlay, topmost first, which nothing changes meanwhile. */
export interface TreeSide {
  readonly layers: readonly string[]
  /** The read-only btrfs subvolume whose `upper`, or which itself where it is a plain tree, is the topmost layer; null where there is none. */
  readonly subvolume: string | null
}

/** The name of the changed files within an area, captured or not. */
export const UPPER = 'upper'

export function subvolumeSide(subvolume: string, below: readonly string[]): TreeSide {
  return { layers: [join(subvolume, UPPER), ...below], subvolume }
}
