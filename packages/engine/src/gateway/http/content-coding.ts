import { Transform, type TransformCallback } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  type BrotliDecompress,
  type Gunzip,
  type Inflate,
  type InflateRaw,
  type ZstdDecompress,
} from 'node:zlib'
import type { Claim } from './body-memory.ts'
import { valuesOf, type Headers } from './message.ts'

type Decoder = BrotliDecompress | Gunzip | Inflate | InflateRaw | ZstdDecompress

/** As RFC 9659 has it for the web. */
const ZSTD_WINDOW_BITS = 23
/** What must be kept of a body while it is unpacked; of other codings it is nothing worth counting. */
const WINDOW_BYTES: Readonly<Record<string, number>> = { br: 2 ** 24, zstd: 2 ** ZSTD_WINDOW_BITS }

const DECODERS: Readonly<Record<string, (first: Buffer) => Decoder>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  // With a header of zlib, or as some servers send it, without.
  deflate: (first) => (((first[0] ?? 0) & 0x0f) === 8 ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_BITS } }),
}
const MOST_CODINGS = 3

/** The codings of a body, in the order in which they are taken off. Null when one of them is unknown. */
export function codingsOf(headers: Headers): string[] | null {
  return knownOf(listed(headers))
}

/** The same of a request. The frames of AWS are no packing: what is in them is searched as it is. */
export function requestCodingsOf(headers: Headers): string[] | null {
  const codings = listed(headers)
  const known = knownOf(codings.filter((coding) => coding !== AWS_FRAMES))
  return known !== null && codings.includes(AWS_FRAMES) ? [] : known
}

const AWS_FRAMES = 'aws-chunked'

function listed(headers: Headers): string[] {
  return valuesOf(headers, 'content-encoding')
    .flatMap((value) => value.split(','))
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== '' && coding !== 'identity')
    .toReversed()
}

function knownOf(codings: string[]): string[] | null {
  return codings.length <= MOST_CODINGS && codings.every((coding) => Object.hasOwn(DECODERS, coding)) ? codings : null
}

/** The part of what a client accepts that can be looked into. */
export function readableCodings(accepted: string): string {
  return accepted
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => {
      const name = coding.split(';', 1)[0]?.trim().toLowerCase() ?? ''
      return name === 'identity' || Object.hasOwn(DECODERS, name)
    })
    .join(', ')
}

/** Takes one coding off a body. Nothing is taken off nothing. */
export class Decoded extends Transform {
  readonly #coding: string
  readonly #claim: Claim
  #decoder: Decoder | null = null
  /** Not claimed yet. */
  #window: number

  constructor(coding: string, claim: Claim) {
    super()
    this.#coding = coding
    this.#claim = claim
    this.#window = WINDOW_BYTES[coding] ?? 0
    // Whoever reads it hears of an error; when nobody does any more it must not end the process.
    this.on('error', () => undefined)
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#decoder ??= this.#start(chunk)
    const decoder = this.#decoder
    const before = decoder.bytesWritten
    // A decoder that has come to the end of what was packed takes nothing more, and does not say so otherwise.
    const ended = (): void => {
      this.#decoder = null
      this.#goOn(chunk.subarray(decoder.bytesWritten - before), chunk.length, done)
    }
    decoder.once('end', ended)
    decoder.write(chunk, (error) => {
      // Afterwards it says that it was given up.
      if (this.#decoder !== decoder) return
      decoder.off('end', ended)
      done(error ?? null)
    })
  }

  /** Behind one frame of zstd there may be another. All else that follows an end could be read by somebody and was searched by nobody. */
  #goOn(rest: Buffer, of: number, done: TransformCallback): void {
    if (rest.length === 0) done()
    else if (this.#coding === 'zstd' && rest.length < of) this._transform(rest, 'binary', done)
    else done(new Error(`there is something behind the end of what is packed as ${this.#coding}`))
  }

  override _flush(done: TransformCallback): void {
    if (this.#decoder === null) return done()
    this.#decoder.once('end', () => done())
    this.#decoder.end()
  }

  override _read(size: number): void {
    this.#decoder?.resume()
    super._read(size)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#decoder?.destroy()
    done(error)
  }

  #start(first: Buffer): Decoder {
    const decoder = DECODERS[this.#coding]?.(first)
    if (decoder === undefined) throw new Error(`no decoder for ${this.#coding}`)
    decoder.on('data', (chunk: Buffer) => {
      this.#keep(chunk.length)
      if (!this.destroyed && !this.push(chunk)) decoder.pause()
    })
    decoder.on('error', (error) => this.destroy(error))
    return decoder
  }

  #keep(bytes: number): void {
    const more = Math.min(bytes, this.#window)
    if (more === 0) return
    this.#window -= more
    try {
      this.#claim(more)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }
}
