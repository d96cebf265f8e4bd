import type { StoredSnapshot } from '../store/snapshot-manifest.ts'
import type { ChangeRecord } from './change-record.ts'
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
  /**
   * What is at these paths, as programs inside see it; nothing for those where nothing is. Throws `conflict` when one of them has changed
   * since this state was taken.
   */
  present(paths: readonly string[], signal?: AbortSignal): Promise<ReadonlyMap<string, PresentState>>
}

export type PresentState = Pick<ChangeRecord, 'type' | 'size' | 'modifiedNanoseconds'> & {
  /** The time that programs may see instead. */
  readonly otherModifiedNanoseconds?: bigint
}

/** `present` for a root whose records are what programs see. What changes later is noticed when it is to be replaced. */
export async function presentStates(
  root: RootState,
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<Map<string, PresentState>> {
  const states = new Map<string, PresentState>()
  for await (const part of root.read(paths, false, signal)) {
    if (part.kind === 'record') states.set(part.record.path, part.record)
  }
  return states
}

/** For `read`: nobody but the caller limits what it reads. */
export const UNLIMITED = Number.MAX_SAFE_INTEGER
