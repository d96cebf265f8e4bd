import { BOUNDS, HearthError } from '@hearth/contract'
import { encodeFrame } from './encode-frame.ts'
import { DATA_FRAME_BYTES } from './bulk-buffers.ts'
import type { FrameSink } from './frame-sink.ts'
import type { MessageName, Messages } from './messages.gen.ts'
import { WireError } from './wire.ts'

/**
 * What the opener of a channel does with each message. One that has no handler breaks the protocol, as does a handler that throws
 * `WireError`. Bytes in a message that is not `stable` must be copied before the handler returns. `creditBytes` is what the message used up
 * of the channel's credit, to be granted again when it is consumed.
 */
export type MessageHandlers = {
  readonly [Name in MessageName]?: (message: Messages[Name], stable: boolean, creditBytes: number) => void
}

export interface ChannelHandlers extends MessageHandlers {
  /** The request failed, or the channel is gone before its final message. Called at most once, and nothing after it. */
  ended(error: HearthError): void
  /** False while silence is not the guest's fault: the time limit then starts again. */
  waitsForGuest?(): boolean
}

/** What a channel needs of its link. */
export interface ChannelOwner {
  readonly sink: FrameSink
  /** The host gives the channel up. */
  abandon(channel: Channel): void
}

const UNGRANTED_BYTES = BOUNDS.channelWindowBytes / 4
/** More than any guest has reason to grant. */
const MAXIMUM_CREDIT = 2 ** 40

/** One conversation on the link: its credit in both directions and its time limit. */
export class Channel {
  readonly number: number
  readonly request: MessageName
  readonly handlers: ChannelHandlers
  readonly #owner: ChannelOwner
  #receiveCredit: number = BOUNDS.channelWindowBytes
  #ungranted = 0
  #sendCredit = 0
  /** What the guest granted at first: all that it grants later is for bytes that it has taken. */
  #sendWindow: number | null = null
  #closesWhenTaken = false
  #open = true
  #failure: HearthError | null = null
  #creditWaiter: (() => void) | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(owner: ChannelOwner, number: number, request: MessageName, handlers: ChannelHandlers) {
    this.#owner = owner
    this.number = number
    this.request = request
    this.handlers = handlers
  }

  get open(): boolean {
    return this.#open
  }

  isCarriedBy(owner: ChannelOwner): boolean {
    return this.#owner === owner
  }

  /** Why it ended, if that was a failure. */
  get failure(): HearthError | null {
    return this.#failure
  }

  /** Bytes that the guest may still send. */
  get receiveCredit(): number {
    return this.#receiveCredit
  }

  get hasSendCredit(): boolean {
    return this.#sendCredit > 0
  }

  /** The guest must say something on this channel at least this often; 0 for no limit. */
  limitSilence(milliseconds: number): void {
    clearTimeout(this.#timer ?? undefined)
    this.#timer = milliseconds === 0 ? null : setTimeout(() => this.#silent(milliseconds), milliseconds).unref()
  }

  /** A frame of the guest has come that uses this much credit. */
  received(creditBytes: number): void {
    this.#timer?.refresh()
    this.#receiveCredit -= creditBytes
    if (this.#receiveCredit < 0) throw new WireError(`the guest sent more than its credit for ${this.request}`)
  }

  /** The consumer has taken these bytes; the guest may send as many again. Told to it in batches. */
  grant(bytes: number): void {
    this.#ungranted += bytes
    if (this.#ungranted < UNGRANTED_BYTES || !this.#open) return
    this.#receiveCredit += this.#ungranted
    this.#send('Credit', { bytes: this.#ungranted })
    this.#ungranted = 0
  }

  credited(bytes: number): void {
    this.#sendWindow ??= bytes
    this.#sendCredit += bytes
    if (this.#sendCredit > MAXIMUM_CREDIT) throw new WireError('the guest granted an absurd amount of credit')
    this.#wakeSender()
    if (this.#closesWhenTaken) this.closeWhenTaken()
  }

  /** Sends as much as one frame, the credit and the stream allow; returns how much that was. */
  trySend(bytes: Uint8Array): number {
    if (!this.#open || this.#sendCredit <= 0 || this.#owner.sink.congested) return 0
    const count = Math.min(bytes.length, this.#sendCredit, DATA_FRAME_BYTES)
    this.#sendCredit -= count
    this.#owner.sink.pushData(this.number, count === bytes.length ? bytes : bytes.subarray(0, count))
    return count
  }

  /** Resolves when `trySend` is worth another try, or the channel has ended. One caller at a time. */
  async whenWritable(): Promise<void> {
    if (this.#open && this.#sendCredit <= 0) {
      await new Promise<void>((resolve) => {
        this.#creditWaiter = resolve
      })
    }
    if (this.#open) await this.#owner.sink.whenUncongested()
  }

  sendEof(): void {
    if (this.#open) this.#send('Eof', {})
  }

  /** Gives the channel up. No handler is called any more. */
  close(): void {
    if (!this.#open) return
    this.#send('Close', {})
    this.#owner.abandon(this)
    this.finish()
  }

  /** As `close`, but not before the guest has taken all that was sent: what it holds of a channel goes with it. */
  closeWhenTaken(): void {
    this.#closesWhenTaken = true
    if (this.#sendWindow === null || this.#sendCredit >= this.#sendWindow) this.close()
  }

  /** Gives the channel up because of an error, and tells its opener. */
  fail(error: HearthError): void {
    if (!this.#open) return
    this.close()
    this.end(error)
  }

  /** The conversation has failed; only the link calls this. */
  end(error: HearthError): void {
    this.#failure = error
    this.finish()
    this.handlers.ended(error)
  }

  /** The conversation is over; only the link calls this. */
  finish(): void {
    this.#open = false
    clearTimeout(this.#timer ?? undefined)
    this.#timer = null
    this.#wakeSender()
  }

  #wakeSender(): void {
    const resume = this.#creditWaiter
    this.#creditWaiter = null
    resume?.()
  }

  #silent(milliseconds: number): void {
    // A guest that is paused cannot say anything.
    if (this.#owner.sink.held || this.handlers.waitsForGuest?.() === false) this.#timer?.refresh()
    else this.fail(new HearthError('timeout', `the guest did not answer ${this.request} within ${milliseconds} ms`))
  }

  #send<Name extends 'Credit' | 'Eof' | 'Close'>(name: Name, message: Messages[Name]): void {
    this.#owner.sink.push(encodeFrame(name, message, this.number))
  }
}
