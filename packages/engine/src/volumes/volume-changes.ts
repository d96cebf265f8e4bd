import type { FileChange } from '@hearth/contract'
import { recordPath, type ChangeRecord } from '../diff/change-record.ts'
import { collectChanges, fileChange } from '../diff/list-changes.ts'
import { readChanges } from '../diff/read-changes.ts'
import { volumeSide } from '../diff/volume-tree.ts'
import type { StillCopy } from './still-copies.ts'

/** A difference between two states of a volume. */
export interface VolumeChange extends FileChange {
  /** Its path as the bytes that it has on disk, without the leading slash: a guest may use names that are no text. */
  readonly name: Uint8Array
  /** Permission bits. */
  readonly mode: number
  /** Where a symlink points, as it is written there. */
  readonly target: Uint8Array | null
}

export interface VolumeChangesOptions {
  /** Only below these. */
  readonly paths?: readonly string[]
  /** Also the content of added and changed files of up to this many bytes each. */
  readonly contentBytes?: number
  readonly signal?: AbortSignal
}

/** What differs between two still copies, in time that depends on what changed where both are subvolumes of btrfs. */
export async function compareStill(
  guest: string,
  before: StillCopy,
  after: StillCopy,
  { paths, contentBytes, signal }: VolumeChangesOptions,
): Promise<VolumeChange[]> {
  const found = await collectChanges(
    readChanges({
      guest,
      attributes: 'none',
      before: volumeSide(before),
      after: volumeSide(after),
      chosen: paths === undefined ? null : { paths: paths.map(recordPath), deep: true },
      ...(contentBytes === undefined ? {} : { contentBytes }),
      signal,
    }),
  )
  return found.map((change) => ({ ...fileChange(change, contentBytes !== undefined), ...detailsOf(change.record) }))
}

function detailsOf({ path, mode, type, target }: ChangeRecord): Pick<VolumeChange, 'name' | 'mode' | 'target'> {
  return {
    name: Buffer.from(path, 'latin1'),
    mode,
    target: type === 'symlink' ? Buffer.from(target, 'latin1') : null,
  }
}
