import type { DiffLimits } from '../diff/diff-limits.ts'
import type { PresentState, RootState } from '../diff/root-state.ts'

/** A question to a machine about its own root. */
export interface ChangeQuestion {
  /** Exactly these paths of records. Null for all. */
  readonly paths: readonly string[] | null
  /** What is there, instead of what differs from the template. */
  readonly whole: boolean
  /** With the content of files up to this size. Null for none. */
  readonly contentBytes: number | null
  readonly limits: DiffLimits
}

/** Answers with a stream of changes. What comes is hostile. */
export type ChangeList = (question: ChangeQuestion, signal?: AbortSignal) => AsyncIterable<Uint8Array>

/** What is at an absolute path, without following a link there; null when there is nothing. */
export type StatInside = (path: string) => Promise<PresentState | null>

/** How it is found out what changed in a machine: in a capture of its files, by asking its guest, or it knows itself. */
export type ChangeSource =
  /** `stat` where its kernel keeps times of its own, which may differ from those on the host. */
  | { readonly kind: 'captured'; readonly stat: StatInside | null }
  | { readonly kind: 'guest'; readonly list: ChangeList }
  | { readonly kind: 'own'; readonly open: () => RootState }
