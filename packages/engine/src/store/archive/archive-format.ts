import { HearthError } from '@hearth/contract'

const KiB = 1024
const GiB = 1024 ** 3

/**
 * A snapshot as one file is a tar: the manifest, the tree of the disk with its extended attributes and holes as other programs write them, the
 * files of the memory, and the checksums of all that.
 */
export const FORMAT = 'hearth-snapshot'
export const VERSION = 1
export const MANIFEST_ENTRY = 'hearth-snapshot.json'
export const CHECKSUMS_ENTRY = 'checksums.json'
export const DISK_PREFIX = 'disk/'
export const MEMORY_PREFIX = 'memory/'

/** What an archive may cost. It comes from anywhere. */
export interface ArchiveLimits {
  readonly entries: number
  /** Of all files together, holes not counted. */
  readonly totalBytes: number
  /** Of one file, holes counted. */
  readonly fileBytes: number
  readonly manifestBytes: number
  readonly memoryFiles: number
}

export const ARCHIVE_LIMITS: ArchiveLimits = {
  entries: 2_000_000,
  totalBytes: 64 * GiB,
  fileBytes: 16_384 * GiB,
  manifestBytes: 1024 * KiB,
  memoryFiles: 64,
}

export const PATH_BYTES = 4095
export const NAME_BYTES = 255
/** Sandboxes have no ids above it. */
export const MAXIMUM_ID = 65_535

export function corrupt(message: string, context: Record<string, unknown> = {}, cause?: unknown): HearthError {
  return new HearthError('snapshot_corrupt', `the archive cannot be imported: ${message}`, { context, cause })
}
