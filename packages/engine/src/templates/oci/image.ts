import type { ImageConfig } from './image-schemas.ts'

/** A layer, not yet read. */
export interface ImageLayer {
  /** Digest of its content after decompression. */
  readonly diffId: string
  /** The stored bytes, compressed or not. Where there is a digest for them, they are compared with it. */
  readonly open: () => AsyncIterable<Uint8Array>
}

/** An image whose manifest and configuration were read and compared with their digests. */
export interface Image {
  /** Digest of the configuration, which holds those of the layers: the same digest is the same root. */
  readonly digest: string
  readonly config: ImageConfig
  readonly layers: readonly ImageLayer[]
}
