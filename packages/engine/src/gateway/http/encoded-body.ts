import { Transform, type Readable, type TransformCallback } from 'node:stream'
import { HearthError } from '@hearth/contract'
import type { SandboxSecrets } from '../secrets/sandbox-secrets.ts'
import type { SearchTime } from '../secrets/search-time.ts'
import type { Claim } from './body-memory.ts'
import { Decoded } from './content-coding.ts'
import { refuse } from './refusal.ts'

/** What a body may unpack to: this, and so many times its own size. */
const FREE_BYTES = 64 * 1024 * 1024
const MOST_TIMES = 200

type Searched = Pick<SandboxSecrets, 'watch' | 'time'>

/** Passes a compressed body on as it is, after looking into what each part of it unpacks to. */
class LookedInto extends Transform {
  readonly #stages: readonly [Decoded, ...Decoded[]]
  readonly #last: Decoded
  readonly #watch: (chunk: Buffer) => void
  readonly #time: SearchTime
  #waiting: Buffer | null = null
  #packed = 0
  #unpacked = 0

  constructor(stages: readonly [Decoded, ...Decoded[]], { watch, time }: Searched) {
    super()
    // It may fail before somebody reads it, who hears of it then.
    this.on('error', () => undefined)
    const filter = watch.stream('the body')
    this.#time = time
    this.#stages = stages
    this.#watch = (chunk) => void filter.write(chunk)
    for (const decoded of stages) {
      decoded.on('error', (error) =>
        this.destroy(HearthError.isInstance(error) ? error : refuse('malformed', 'the body is not encoded as it says')),
      )
    }
    this.#last = stages.reduce((before, next) => before.pipe(next))
    this.#last.on('data', (chunk: Buffer) => this.#look(chunk))
  }

  /** A part goes on when the next one is there: the last waits until all has been searched, so that no server gets a whole request before that. */
  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#packed += chunk.length
    const before = this.#waiting
    this.#waiting = chunk
    this.#stages[0].write(chunk, () => {
      if (!this.destroyed) done(null, before)
    })
  }

  override _flush(done: TransformCallback): void {
    this.#last.once('end', () => done(null, this.#waiting))
    this.#stages[0].end()
  }

  #look(chunk: Buffer): void {
    this.#unpacked += chunk.length
    try {
      if (this.#unpacked > FREE_BYTES + MOST_TIMES * this.#packed)
        throw refuse('malformed', 'the body unpacks to too much')
      this.#watch(chunk)
      const { waitMs } = this.#time
      if (waitMs === 0) return
      this.#last.pause()
      setTimeout(() => this.#last.resume(), waitMs)
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    for (const decoded of this.#stages) decoded.destroy()
    done(error)
  }
}

/** A body that can be forwarded when what it unpacks to has been searched; as it is, when it is not packed. */
export function lookInto(body: Readable, codings: readonly string[], searched: Searched, claim: Claim): Readable {
  const [first, ...others] = codings.map((coding) => new Decoded(coding, claim))
  if (first === undefined) return body
  const looked = new LookedInto([first, ...others], searched)
  body.on('error', (error) => looked.destroy(error))
  body.once('close', () => {
    if (!body.readableEnded) looked.destroy(new Error('the body broke off'))
  })
  return body.pipe(looked)
}
