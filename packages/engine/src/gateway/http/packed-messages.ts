import { Transform, type TransformCallback } from 'node:stream'
import { callbackify, promisify } from 'node:util'
import { gunzip, inflate, zstdDecompress } from 'node:zlib'
import type { Claim } from './body-memory.ts'
import { valuesOf, type Header, type Headers } from './message.ts'

/** By which messages inside a body are packed one by one: gRPC, also for the web, and the streams of Connect. */
const ENCODINGS = ['grpc-encoding', 'connect-content-encoding']
const ACCEPTED = new Set(['grpc-accept-encoding', 'connect-accept-encoding'])

const UNPACKERS: Readonly<Record<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  zstd: promisify(zstdDecompress),
}

/** Of a message, packed and unpacked: what clients of gRPC take at the most when they are told nothing else. */
export const LONGEST_MESSAGE = 4 * 1024 * 1024
const HEAD_BYTES = 5
const PACKED = 1

/** What a client accepts for single messages: none that is packed, since nobody would look into those. */
export function withoutPackedMessages([name, value]: Header): Header {
  return [name, ACCEPTED.has(name.toLowerCase()) ? 'identity' : value]
}

/**
 * How messages of the body may be packed, whatever was accepted: servers answer in the way that they were asked in. Null for not at all, `unknown`
 * for what cannot be unpacked here.
 */
export function messageCoding(headers: Headers): string | null {
  const [coding, ...more] = ENCODINGS.flatMap((name) => valuesOf(headers, name))
    .map((value) => value.trim().toLowerCase())
    .filter((value) => value !== '' && value !== 'identity')
  if (coding === undefined) return null
  // One text of base64, in which messages begin anywhere.
  const isText = valuesOf(headers, 'content-type').some((type) => /grpc-web-text/i.test(type))
  return more.length === 0 && !isText && Object.hasOwn(UNPACKERS, coding) ? coding : 'unknown'
}

/** Unpacks the messages of a body, each of which says of itself that it is packed, and leaves the others as they are. */
export class UnpackedMessages extends Transform {
  readonly #coding: string
  readonly #claim: Claim
  #bytes: Buffer = Buffer.alloc(0)
  /** Of a message that is not packed: it is not waited for. */
  #passing = 0
  #claimed = 0

  constructor(coding: string, claim: Claim) {
    super()
    this.#coding = coding
    this.#claim = claim
    this.on('error', () => undefined)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk])
    callbackify(async () => await this.#unpack())((error) => done(error))
  }

  override _flush(done: TransformCallback): void {
    done(this.#bytes.length + this.#passing > 0 ? new Error('the last message is not whole') : null)
  }

  async #unpack(): Promise<void> {
    while (this.#bytes.length > 0) {
      if (this.#passing > 0) {
        const passed = this.#take(Math.min(this.#passing, this.#bytes.length))
        this.#passing -= passed.length
        this.push(passed)
        continue
      }
      if (this.#bytes.length < HEAD_BYTES) return
      const [flags = 0] = this.#bytes
      const length = this.#bytes.readUInt32BE(1)
      if ((flags & PACKED) === 0) {
        this.push(this.#take(HEAD_BYTES))
        this.#passing = length
        continue
      }
      this.#keep(length)
      if (this.#bytes.length < HEAD_BYTES + length) return
      // oxlint-disable-next-line no-await-in-loop -- messages keep their order
      this.push(await this.#unpacked(flags, this.#take(HEAD_BYTES + length).subarray(HEAD_BYTES)))
    }
  }

  async #unpacked(flags: number, packed: Buffer): Promise<Buffer> {
    const unpack = UNPACKERS[this.#coding]
    if (unpack === undefined) throw new Error(`messages in ${this.#coding} cannot be unpacked`)
    const message = packed.length === 0 ? packed : await unpack(packed, { maxOutputLength: LONGEST_MESSAGE })
    this.#keep(message.length)
    const head = Buffer.alloc(HEAD_BYTES)
    head.writeUInt8(flags & ~PACKED, 0)
    head.writeUInt32BE(message.length, 1)
    return Buffer.concat([head, message])
  }

  #take(count: number): Buffer {
    const taken = this.#bytes.subarray(0, count)
    this.#bytes = this.#bytes.subarray(count)
    return taken
  }

  /** The longest so far is claimed to the end of the answer. */
  #keep(length: number): void {
    if (length > LONGEST_MESSAGE) throw new Error(`a packed message of more than ${LONGEST_MESSAGE} bytes`)
    if (length > this.#claimed) this.#claim(length - this.#claimed)
    this.#claimed = Math.max(this.#claimed, length)
  }
}
