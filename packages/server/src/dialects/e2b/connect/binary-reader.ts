import { malformed } from './json-codec.ts'

/** Reads the wire format of protocol buffers. Everything in it is the client's: each step checks that there is enough. */
export class BinaryReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  get done(): boolean {
    return this.#at >= this.#bytes.length
  }

  tag(): { readonly number: number; readonly wire: number } {
    const tag = Number(this.varint())
    return { number: Math.floor(tag / 8), wire: tag % 8 }
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined) break
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asUintN(64, value)
    }
    throw malformed('has a number that does not end')
  }

  bytes(): Buffer {
    const length = Number(this.varint())
    if (length > this.#bytes.length - this.#at) throw malformed('is shorter than it says')
    const found = this.#bytes.subarray(this.#at, this.#at + length)
    this.#at += length
    return found
  }

  /** Past a field that nobody here knows. */
  skip(wire: number): void {
    if (wire === 0) this.varint()
    else if (wire === 2) this.bytes()
    else if (wire === 1 || wire === 5) this.#at += wire === 1 ? 8 : 4
    else throw malformed('has a field of an unknown kind')
    if (this.#at > this.#bytes.length) throw malformed('is shorter than it says')
  }
}
