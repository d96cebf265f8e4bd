import { BOUNDS } from '@hearth/contract'
import { HEADER_BYTES, WireError } from './wire.ts'

/**
 * Takes one frame. A payload that is not `stable` lies in a buffer that is used again: whoever keeps it must copy it before
 * returning. A stable one belongs to whoever takes it.
 */
export type FrameHandler = (type: number, channel: number, payload: Buffer, stable: boolean) => void

const PARTIAL_BYTES = HEADER_BYTES + BOUNDS.frameBytes
const SPARE_BUFFERS = 8

/** Buffers for frames that come in pieces. Shared by all links, so that an idle one holds none. */
const spares: Buffer[] = []

/** Cuts a byte stream into frames. Hostile input: everything is bounded, and a header that breaks a rule throws `WireError`. */
export class FrameDecoder {
  readonly #handler: FrameHandler
  #partial: Buffer | null = null
  #filled = 0
  #stopped = false

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Gives every frame that `chunk` completes to the handler. One that is not `stable` is the caller's again when this returns. */
  push(chunk: Buffer, stable = true): void {
    let at = this.#partial === null ? 0 : this.#complete(this.#partial, chunk)
    while (!this.#stopped && chunk.length - at >= HEADER_BYTES) {
      const end = at + HEADER_BYTES + payloadLength(chunk, at)
      if (end > chunk.length) break
      this.#handler(chunk[at + 4] ?? 0, chunk.readUInt32LE(at + 8), chunk.subarray(at + HEADER_BYTES, end), stable)
      at = end
    }
    if (!this.#stopped && at < chunk.length) this.#keep(chunk, at)
  }

  /** No frame is given out any more, not even one that lies in the chunk at hand. */
  stop(): void {
    this.#stopped = true
    this.#release()
  }

  #keep(chunk: Buffer, at: number): void {
    this.#partial = spares.pop() ?? Buffer.allocUnsafeSlow(PARTIAL_BYTES)
    this.#filled = chunk.copy(this.#partial, 0, at)
  }

  /** Goes on with the frame that an earlier chunk began; returns how much of this one it took. */
  #complete(partial: Buffer, chunk: Buffer): number {
    let taken = 0
    if (this.#filled < HEADER_BYTES) {
      taken = chunk.copy(partial, this.#filled, 0, HEADER_BYTES - this.#filled)
      this.#filled += taken
      if (this.#filled < HEADER_BYTES) return taken
    }
    const end = HEADER_BYTES + payloadLength(partial, 0)
    const copied = chunk.copy(partial, this.#filled, taken, taken + end - this.#filled)
    this.#filled += copied
    taken += copied
    if (this.#filled < end) return taken
    this.#handler(partial[4] ?? 0, partial.readUInt32LE(8), partial.subarray(HEADER_BYTES, end), false)
    this.#release()
    return taken
  }

  #release(): void {
    // A frame that is being handled may stop the decoder; its payload must stay as it is until the handler has returned,
    // and it does: nobody takes a spare buffer before that.
    if (this.#partial !== null && spares.length < SPARE_BUFFERS) spares.push(this.#partial)
    this.#partial = null
    this.#filled = 0
  }
}

function payloadLength(bytes: Buffer, at: number): number {
  const length = bytes.readUInt32LE(at)
  if (length > BOUNDS.frameBytes) throw new WireError(`a frame of ${length} bytes is longer than ${BOUNDS.frameBytes}`)
  if (bytes.readUInt32LE(at + 4) > 0xff) throw new WireError('reserved bytes of a frame are not zero')
  return length
}
