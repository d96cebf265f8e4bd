import { HearthError } from '@hearth/contract'

const MiB = 1024 * 1024

/** How far a comparison goes. What a sandbox holds decides none of it. */
export interface DiffLimits {
  /** Differences in one answer. More is refused with `too_many`. */
  readonly changes: number
  /** Names that are looked at. */
  readonly entries: number
  /** Files of one size are read up to this size to find them equal; larger ones count as changed. */
  readonly compareFileBytes: number
  /** Together. */
  readonly compareBytes: number
  /** Bytes of all paths and targets of links in one answer. More is refused with `too_many`. */
  readonly textBytes: number
  /** Content that goes along in one answer; what does not fit is left out. */
  readonly contentBytes: number
}

export const DIFF_LIMITS: DiffLimits = {
  changes: 100_000,
  entries: 5_000_000,
  compareFileBytes: 256 * MiB,
  compareBytes: 4096 * MiB,
  textBytes: 64 * MiB,
  contentBytes: 64 * MiB,
}

export function tooManyChanges(context: Record<string, unknown> = {}): HearthError {
  return new HearthError('too_many', 'there are more changes than one answer can hold', {
    context,
    suggestion: 'Ask for fewer paths.',
  })
}
