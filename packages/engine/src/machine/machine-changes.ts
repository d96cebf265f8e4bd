import type { DiffLimits } from '../diff/diff-limits.ts'
import type { RootState } from '../diff/root-state.ts'

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

/** How it is found out what changed in a machine: in a capture of its files, by asking its guest, or it knows itself. */
export type ChangeSource =
  | { readonly kind: 'captured' }
  | { readonly kind: 'guest'; readonly list: ChangeList }
  | { readonly kind: 'own'; readonly open: () => RootState }
