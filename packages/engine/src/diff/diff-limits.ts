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
  /** Content that goes along in one answer; what does not fit is left out. */
  readonly contentBytes: number
}

export const DIFF_LIMITS: DiffLimits = {
  changes: 100_000,
  entries: 5_000_000,
  compareFileBytes: 256 * MiB,
  compareBytes: 4096 * MiB,
  contentBytes: 64 * MiB,
}
