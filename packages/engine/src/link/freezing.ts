import { HearthError } from '@hearth/contract'
import { decode } from './dispatch.ts'
import type { FrameSink } from './frame-sink.ts'
import { WireError } from './wire.ts'

export interface Frozen {
  /** There is no process but the guest, so that nobody writes until the thaw. */
  readonly alone: boolean
}

/** The frames that begin and end a freeze. */
interface FreezeFrames {
  readonly freeze: Uint8Array
  readonly thaw: Uint8Array
}

/**
 * Freeze and its Frozen, and stops by the keeper. From then to the thaw or the resume nothing goes out: what calls want to send meanwhile waits in
 * the sink, and the calls do not notice.
 */
export class Freezing {
  readonly #sink: FrameSink
  #frames: FreezeFrames | null = null
  #stopped = false
  #asked: PromiseWithResolvers<Frozen> | null = null
  /** A Frozen that came too late for whoever asked. */
  #late = 0

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Resolves when the guest has said its last word. When it does not, or cannot hold its files, everything goes on. */
  async freeze(frames: FreezeFrames, timeoutMs: number): Promise<Frozen> {
    if (this.#sink.held) throw new HearthError('conflict', 'the sandbox is paused or being captured')
    const asked = Promise.withResolvers<Frozen>()
    this.#asked = asked
    this.#frames = frames
    this.#sink.hold(frames.freeze)
    const timer = setTimeout(() => {
      this.#late++
      this.#asked = null
      asked.reject(new HearthError('timeout', `the guest was not frozen within ${timeoutMs} ms`))
    }, timeoutMs)
    try {
      return await asked.promise
    } catch (error) {
      this.thaw()
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  /** One that was stopped meanwhile thaws when it resumes. */
  thaw(): void {
    if (this.#frames === null || this.#stopped) return
    const { thaw } = this.#frames
    this.#frames = null
    this.#sink.resume(thaw)
  }

  /** A guest that is frozen is stopped as it is; one that was only asked to freeze has its last word to say before. */
  stop(keeperPause: Uint8Array): void {
    if (this.#stopped || (this.#sink.held && !this.silent)) return
    this.#stopped = true
    this.#sink.hold(keeperPause)
  }

  resume(keeperResume: Uint8Array): void {
    const { thaw } = this.#frames ?? { thaw: new Uint8Array() }
    this.#frames = null
    this.#stopped = false
    this.#sink.resume(Buffer.concat([keeperResume, thaw]))
  }

  /** True from the guest's last word to the thaw. */
  get silent(): boolean {
    return this.#frames !== null && this.#asked === null
  }

  received(payload: Buffer): void {
    const { errno, others } = decode('Frozen', payload)
    const asked = this.#asked
    if (asked === null) {
      if (this.#late === 0) throw new WireError('a Frozen that nothing asked for')
      this.#late--
      return
    }
    this.#asked = null
    if (errno === 0) asked.resolve({ alone: others === 0 })
    else
      asked.reject(new HearthError('file_failed', `the file systems of the sandbox could not be held: errno ${errno}`))
  }

  fail(error: HearthError): void {
    this.#frames = null
    this.#asked?.reject(error)
    this.#asked = null
  }
}
