import { Transform, type Readable, type TransformCallback } from 'node:stream'
import type { PlaceholderWatch } from '../secrets/placeholder-watch.ts'
import { Decoded } from './content-coding.ts'
import { refuse } from './refusal.ts'

/** What a body may unpack to: this, and so many times its own size. */
const FREE_BYTES = 64 * 1024 * 1024
const MOST_TIMES = 200

/** Passes a compressed body on as it is, after looking into what each part of it unpacks to. */
class LookedInto extends Transform {
  readonly #decoded: Decoded
  readonly #watch: (chunk: Buffer) => void
  #packed = 0
  #unpacked = 0

  constructor(coding: string, watch: PlaceholderWatch) {
    super()
    // It may fail before somebody reads it, who hears of it then.
    this.on('error', () => undefined)
    const filter = watch.stream('the body')
    this.#decoded = new Decoded(coding)
    this.#watch = (chunk) => void filter.write(chunk)
    this.#decoded.on('error', () => this.destroy(refuse('malformed', 'the body is not encoded as it says')))
    this.#decoded.on('data', (chunk: Buffer) => this.#look(chunk))
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#packed += chunk.length
    this.#decoded.write(chunk, () => {
      if (!this.destroyed) done(null, chunk)
    })
  }

  override _flush(done: TransformCallback): void {
    this.#decoded.once('end', () => done())
    this.#decoded.end()
  }

  #look(chunk: Buffer): void {
    this.#unpacked += chunk.length
    try {
      if (this.#unpacked > FREE_BYTES + MOST_TIMES * this.#packed)
        throw refuse('malformed', 'the body unpacks to too much')
      this.#watch(chunk)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
      this.#decoded.destroy()
    }
  }
}

/** A body that can be forwarded when what it unpacks to has been searched; as it is, when it is not packed in a way that is known. */
export function lookInto(body: Readable, codings: readonly string[], watch: PlaceholderWatch): Readable {
  const [coding] = codings
  if (coding === undefined) return body
  const looked = new LookedInto(coding, watch)
  body.on('error', (error) => looked.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) looked.destroy(new Error('the body broke off'))
  })
  return body.pipe(looked)
}
