import { HearthError } from '@hearth/contract'
import { clockFrame } from './clock-frame.ts'
import { decode } from './dispatch.ts'
import { encodeFrame } from './encode-frame.ts'
import type { FrameSink } from './frame-sink.ts'
import { WireError } from './wire.ts'

export interface Frozen {
  /** There is no process but the guest, so that nobody writes until the thaw. */
  readonly alone: boolean
}

const SETTLE_FILES = 1

/**
 * Freeze and its Frozen, and stops by the keeper. From then to the thaw or the resume nothing goes out: what calls want to send meanwhile waits in
 * the sink, and the calls do not notice.
 */
export class Freezing {
  readonly #sink: FrameSink
  #frozen = false
  #stopped = false
  #asked: PromiseWithResolvers<Frozen> | null = null
  /** A Frozen that came too late for whoever asked. */
  #late = 0

  constructor(sink: FrameSink) {
    this.#sink = sink
  }

  /** Resolves when the guest has said its last word. When it does not, or cannot hold its files, everything goes on. */
  async freeze(settle: boolean, timeoutMs: number): Promise<Frozen> {
    if (this.#sink.held) throw new HearthError('conflict', 'the sandbox is paused or being captured')
    const asked = Promise.withResolvers<Frozen>()
    this.#asked = asked
    this.#frozen = true
    this.#sink.hold(encodeFrame('Freeze', { flags: settle ? SETTLE_FILES : 0 }, 0))
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
    if (!this.#frozen || this.#stopped) return
    this.#frozen = false
    this.#sink.resume(thawed())
  }

  /** A guest that is frozen is stopped as it is; one that was only asked to freeze has its last word to say before. */
  stop(): void {
    if (this.#stopped || (this.#sink.held && !this.silent)) return
    this.#stopped = true
    this.#sink.hold(encodeFrame('KeeperPause', {}, 0))
  }

  resume(): void {
    const thaw = this.#frozen ? thawed() : new Uint8Array()
    this.#frozen = false
    this.#stopped = false
    this.#sink.resume(Buffer.concat([encodeFrame('KeeperResume', {}, 0), thaw]))
  }

  /** True from the guest's last word to the thaw. */
  get silent(): boolean {
    return this.#frozen && this.#asked === null
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
    this.#frozen = false
    this.#asked?.reject(error)
    this.#asked = null
  }
}

/** Also what the guest could not notice: how long it stood still. */
function thawed(): Uint8Array {
  return Buffer.concat([encodeFrame('Thaw', {}, 0), clockFrame()])
}
