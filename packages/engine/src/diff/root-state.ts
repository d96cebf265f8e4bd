import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { DiffLimits } from './diff-limits.ts'
import type { ListedChange } from './list-changes.ts'
import type { StreamPart } from './record-stream.ts'

export interface SinceOptions {
  /** Paths of records; only what lies at or below them. Null for all. */
  readonly paths: readonly string[] | null
  /** With the content of files up to this size. Null for none. */
  readonly contentBytes: number | null
  readonly limits?: Partial<DiffLimits>
  readonly signal?: AbortSignal | undefined
}

/** The present state of a sandbox's root, which can be compared with an earlier one. It is to be disposed of. */
export interface RootState extends AsyncDisposable {
  /** Since a snapshot, or since the template. */
  changesSince(base: StoredSnapshot | null, options: SinceOptions): Promise<ListedChange[]>
  /** What is at exactly these paths, each as added; nothing for those where nothing is. */
  read(paths: readonly string[], content: boolean, signal?: AbortSignal): AsyncIterable<StreamPart>
}

/** For `read`: nobody but the caller limits what it reads. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER
