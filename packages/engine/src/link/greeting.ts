import { randomBytes, timingSafeEqual } from 'node:crypto'
import { HearthError } from '@hearth/contract'
import { decode } from './dispatch.ts'
import { MESSAGE_TYPES, PROTOCOL_VERSION, type Messages } from './messages.gen.ts'
import { HEADER_BYTES, WireError } from './wire.ts'

const NONCE_BYTES = 16
/** Frames of an earlier session that can still have been on their way are far fewer. */
const IGNORED_BYTES = 512 * 1024 * 1024

/** Hello and the wait for its Welcome. */
export class Greeting {
  readonly message: Messages['Hello'] = { version: PROTOCOL_VERSION, nonce: randomBytes(NONCE_BYTES) }
  readonly welcome: Promise<Messages['Welcome']>
  readonly #settle: PromiseWithResolvers<Messages['Welcome']>
  readonly #signal: AbortSignal | undefined
  readonly #timer: NodeJS.Timeout
  readonly #aborted = (): void =>
    this.fail(new HearthError('aborted', 'the caller gave up waiting for the guest', { cause: this.#signal?.reason }))
  #ignoredBytes = 0
  #ignoredFrames = 0

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#settle = Promise.withResolvers()
    this.welcome = this.#settle.promise
    this.#signal = signal
    this.#timer = setTimeout(() => this.#timedOut(timeoutMs), timeoutMs)
    signal?.addEventListener('abort', this.#aborted, { once: true })
    if (signal?.aborted) this.#aborted()
  }

  /** True when this frame is the Welcome; any other one is ignored. */
  frame(type: number, channel: number, payload: Buffer): boolean {
    if (type === MESSAGE_TYPES.Welcome && channel === 0) {
      const message = decode('Welcome', payload)
      if (message.nonce.length === NONCE_BYTES && timingSafeEqual(message.nonce, this.message.nonce)) {
        if (message.version !== PROTOCOL_VERSION)
          throw new WireError(
            `the guest speaks version ${message.version} of the link, not ${PROTOCOL_VERSION}: build it anew (npm run setup)`,
          )
        this.#finish()
        this.#settle.resolve({ ...message, nonce: new Uint8Array(message.nonce) })
        return true
      }
    }
    this.#ignoredFrames++
    this.#ignoredBytes += payload.length + HEADER_BYTES
    if (this.#ignoredBytes > IGNORED_BYTES) throw new WireError('the guest sent a flood instead of its Welcome')
    return false
  }

  fail(error: HearthError): void {
    this.#finish()
    this.#settle.reject(error)
  }

  #timedOut(timeoutMs: number): void {
    const others = this.#ignoredFrames === 0 ? '' : `; it sent ${this.#ignoredFrames} other frames`
    this.fail(new HearthError('timeout', `the guest did not answer Hello within ${timeoutMs} ms${others}`))
  }

  #finish(): void {
    clearTimeout(this.#timer)
    this.#signal?.removeEventListener('abort', this.#aborted)
  }
}
