import { BOUNDS } from '@hearth/contract'

/** Payload length (4 bytes, little endian), type (1), zero (3), channel (4). */
export const HEADER_BYTES = 12

/** Something on the link was not as the protocol says. What sent it is not to be trusted. */
export class WireError extends Error {
  override readonly name = 'WireError'
}

/** Reads fields of one payload in order; every access is bounded by the payload. */
export class PayloadReader {
  readonly #bytes: Buffer
  #position = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  #take(count: number): number {
    const start = this.#position
    if (count > this.#bytes.length - start) throw new WireError('a field reaches beyond its frame')
    this.#position = start + count
    return start
  }

  u8(): number {
    return this.#bytes.readUInt8(this.#take(1))
  }

  u16(): number {
    return this.#bytes.readUInt16LE(this.#take(2))
  }

  u32(): number {
    return this.#bytes.readUInt32LE(this.#take(4))
  }

  i32(): number {
    return this.#bytes.readInt32LE(this.#take(4))
  }

  u64(): bigint {
    return this.#bytes.readBigUInt64LE(this.#take(8))
  }

  bytes(): Uint8Array {
    const length = this.u32()
    const start = this.#take(length)
    return this.#bytes.subarray(start, start + length)
  }

  string(): string {
    const length = this.u32()
    const start = this.#take(length)
    return this.#bytes.toString('utf8', start, start + length)
  }

  strings(): readonly string[] {
    const count = this.u32()
    // Each string takes at least its length field, so that a count cannot make us allocate more than the frame.
    if (count > (this.#bytes.length - this.#position) / 4) throw new WireError('a list is longer than its frame')
    return Array.from({ length: count }, () => this.string())
  }

  rest(): Uint8Array {
    const start = this.#take(this.#bytes.length - this.#position)
    return this.#bytes.subarray(start)
  }

  finish(): void {
    if (this.#position !== this.#bytes.length) throw new WireError('a frame is longer than its fields')
  }
}

/** Writes one frame; `finish` gives it with its header. */
export class PayloadWriter {
  #bytes: Buffer
  #length = HEADER_BYTES

  constructor(expectedPayloadBytes = 244) {
    this.#bytes = Buffer.allocUnsafe(HEADER_BYTES + expectedPayloadBytes)
  }

  #grow(count: number): number {
    const start = this.#length
    this.#length = start + count
    if (this.#length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(this.#length, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, start)
      this.#bytes = larger
    }
    return start
  }

  u8(value: number): void {
    const start = this.#grow(1)
    this.#bytes.writeUInt8(value, start)
  }

  u16(value: number): void {
    const start = this.#grow(2)
    this.#bytes.writeUInt16LE(value, start)
  }

  u32(value: number): void {
    const start = this.#grow(4)
    this.#bytes.writeUInt32LE(value, start)
  }

  i32(value: number): void {
    const start = this.#grow(4)
    this.#bytes.writeInt32LE(value, start)
  }

  u64(value: bigint): void {
    const start = this.#grow(8)
    this.#bytes.writeBigUInt64LE(value, start)
  }

  bytes(value: Uint8Array): void {
    this.u32(value.length)
    this.rest(value)
  }

  string(value: string): void {
    const length = Buffer.byteLength(value)
    this.u32(length)
    const start = this.#grow(length)
    this.#bytes.write(value, start, length, 'utf8')
  }

  strings(values: readonly string[]): void {
    this.u32(values.length)
    for (const value of values) this.string(value)
  }

  rest(value: Uint8Array): void {
    const start = this.#grow(value.length)
    this.#bytes.set(value, start)
  }

  finish(type: number, channel: number): Buffer {
    const payload = this.#length - HEADER_BYTES
    if (payload > BOUNDS.frameBytes)
      throw new WireError(`a message of ${payload} bytes does not fit a frame of ${BOUNDS.frameBytes}`)
    this.#bytes.writeUInt32LE(payload, 0)
    this.#bytes.writeUInt32LE(type, 4)
    this.#bytes.writeUInt32LE(channel, 8)
    return this.#bytes.subarray(0, this.#length)
  }
}

/** A count of the wire that must be exact as a number. */
export function exactNumber(value: bigint, what: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new WireError(`${what} is out of range`)
  return Number(value)
}
