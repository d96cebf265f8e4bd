import { HEADER_BYTES } from './wire.ts'

/** Payload of one Data frame: large enough to be fast, small enough that other frames find a gap. */
export const DATA_FRAME_BYTES = 64 * 1024

const FULL_BYTES = HEADER_BYTES + DATA_FRAME_BYTES
/** Smaller ones cost little. */
const WORTH_BYTES = FULL_BYTES / 4
const SPARE_BUFFERS = 16

/**
 * Buffers that were let go, of all links. One for each frame of a transfer would be most of what a host allocates, and collecting them takes
 * more time than sending them.
 */
const spares: ArrayBuffer[] = []

/** For as much as a frame, header included. */
export function bulkBuffer(bytes: number): Buffer {
  if (bytes < WORTH_BYTES || bytes > FULL_BYTES) return Buffer.allocUnsafe(bytes)
  return Buffer.from(spares.pop() ?? new ArrayBuffer(FULL_BYTES), 0, bytes)
}

/** When nobody looks at it any more; it need not be one of these. */
export function releaseBulkBuffer({ buffer }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === FULL_BYTES && spares.length < SPARE_BUFFERS)
    spares.push(buffer)
}
