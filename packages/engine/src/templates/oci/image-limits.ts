const MiB = 1024 * 1024
const GiB = 1024 * MiB

/** What unpacking one image may cost. */
export interface UnpackLimits {
  /** Content of one layer after decompression. */
  readonly layerBytes: number
  /** Content of all layers together. */
  readonly totalBytes: number
  /** Entries of all layers together. */
  readonly entries: number
  readonly pathBytes: number
}

/** Everything that an image or a registry could make too large, in one place. */
export const UNPACK_LIMITS: UnpackLimits = {
  layerBytes: 16 * GiB,
  totalBytes: 32 * GiB,
  entries: 2_000_000,
  pathBytes: 4096,
}

export const IMAGE_LIMITS = {
  manifestBytes: 4 * MiB,
  configBytes: 8 * MiB,
  layers: 128,
  compressedLayerBytes: 8 * GiB,
  /** Layers kept for other images; the least recently used go first. */
  cacheBytes: 16 * GiB,
  /** An index may point to an index, but not for ever. */
  indexDepth: 3,
  tokenBytes: 1 * MiB,
  attempts: 4,
  /** Without a byte for this long an answer is taken as lost. */
  stallMs: 60_000,
} as const
