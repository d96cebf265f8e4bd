import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS, HearthError } from '@hearth/contract'
import { Channel, type ChannelHandlers, type ChannelOwner } from './channel.ts'
import { ChannelTable } from './channel-table.ts'
import { clockFrame } from './clock-frame.ts'
import { encodeFrame } from './encode-frame.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { FrameSink } from './frame-sink.ts'
import { Freezing, type Frozen } from './freezing.ts'
import { Greeting } from './greeting.ts'
import { FIRST_GUEST_CHANNEL, GuestChannels, type GuestCalls } from './guest-channels.ts'
import { LeanSocket } from './lean-socket.ts'
import { linkError, type LinkEnd } from './link-end.ts'
import { MESSAGE_TYPES, type MessageName, type Messages } from './messages.gen.ts'
import { Pings } from './pings.ts'
import type { AnswerTo, SingleRequest, StreamRequest } from './requests.ts'
import { singleAnswer } from './single-answer.ts'
import { WireError } from './wire.ts'

/** Time within which a guest must answer a request, unless it is given another. */
export const REQUEST_TIMEOUT_MS = 60_000
/** Longer than it takes to bring written files to their disk. */
const FREEZE_MS = 30_000
/** A guest that does not read must not hold up the host that wants to leave. */
const CLOSE_MS = 1000
const LAST_CHANNEL = 2 ** 31 - 1
/** Requests that the guest does not read pile up to this, and further ones are refused. */
const UNREAD_BYTES = 16 * 1024 * 1024

export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  /** 0 for none. Default `REQUEST_TIMEOUT_MS`. */
  readonly timeoutMs?: number | undefined
}

/** The host's end of the link to one guest; see guest/protocol.md. Everything that comes is hostile. */
export class Link implements ChannelOwner {
  readonly sink: FrameSink
  /** Resolves once, when it is over. */
  readonly ended: Promise<LinkEnd>
  readonly #stream: Duplex
  readonly #decoder: FrameDecoder
  readonly #channels = new ChannelTable()
  readonly #guestChannels: GuestChannels
  readonly #pings: Pings
  readonly #freezing: Freezing
  readonly #resolveEnded: (end: LinkEnd) => void
  #greeting: Greeting | null = null
  #welcomed = false
  #paused = false
  #lastChannel = 0
  #end: LinkEnd | null = null

  /**
   * `machineEnd` says how the machine ended, if it did, when the stream is over; null when only the stream is. `connectLane` connects to the
   * guest past the keeper, where that can be.
   */
  constructor(
    stream: Duplex,
    machineEnd: () => LinkEnd | null = () => null,
    connectLane: () => Promise<LeanSocket | null> = async () => null,
  ) {
    const ended = Promise.withResolvers<LinkEnd>()
    this.ended = ended.promise
    this.#resolveEnded = ended.resolve
    this.#stream = stream
    this.#guestChannels = new GuestChannels(this, connectLane, (error) => this.#failed(error))
    this.sink = new FrameSink(stream)
    this.#pings = new Pings((token) => this.#send('Ping', { token }, 0))
    this.#freezing = new Freezing(this.sink)
    this.#decoder = new FrameDecoder((type, channel, payload, stable) => this.#frame(type, channel, payload, stable))
    if (stream instanceof LeanSocket) stream.takeBy((bytes) => this.#received(bytes, false))
    else stream.on('data', (chunk: Buffer) => void this.#received(chunk, true))
    const lost = (detail: string): void => {
      if (this.#end === null) this.#finish(machineEnd() ?? { kind: 'lost', detail })
    }
    stream.on('error', (error) => lost(`the link broke: ${error.message}`))
    stream.on('end', () => lost('the other end closed the link'))
    stream.on('close', () => lost('the link was closed'))
  }

  /**
   * Begins a session. What the guest says before its Welcome belongs to an earlier one and is ignored. Requests may follow
   * at once: the guest takes them in order.
   */
  async hello(options: RequestOptions = {}): Promise<Messages['Welcome']> {
    this.#assertOpen()
    const lost = new HearthError('link_lost', 'a new session began on the link')
    this.#endChannels(lost)
    this.#greeting?.fail(lost)
    this.#welcomed = false
    const greeting = new Greeting(options.timeoutMs ?? BOUNDS.bootTimeoutMs, options.signal)
    this.#greeting = greeting
    this.#send('Hello', greeting.message, 0)
    try {
      return await greeting.welcome
    } finally {
      if (this.#greeting === greeting) this.#greeting = null
    }
  }

  /** A request with one answer. */
  request<Name extends SingleRequest>(
    name: Name,
    message: Messages[Name],
    options: RequestOptions = {},
  ): Promise<AnswerTo<Name>> {
    return singleAnswer(this, name, message, (answer) => answer, options)
  }

  /** A request whose answer is checked and turned into something else; `accept` throws `WireError` when the guest lies. */
  ask<Name extends SingleRequest, Value>(
    name: Name,
    message: Messages[Name],
    accept: (answer: AnswerTo<Name>) => Value,
    options: RequestOptions = {},
  ): Promise<Value> {
    return singleAnswer(this, name, message, accept, options)
  }

  /** A request that opens a conversation. The guest must say something within `timeoutMs`, until `limitSilence` says otherwise. */
  open<Name extends StreamRequest | SingleRequest>(
    name: Name,
    message: Messages[Name],
    handlers: ChannelHandlers,
    timeoutMs: number = REQUEST_TIMEOUT_MS,
  ): Channel {
    this.#assertOpen()
    if (this.#paused) throw new HearthError('sandbox_paused', `${name}: the sandbox is paused`)
    if (!this.#welcomed && this.#greeting === null)
      throw new HearthError('internal', `${name} before the guest was greeted`)
    if (this.#channels.size >= BOUNDS.channels)
      throw new HearthError('too_many', `more than ${BOUNDS.channels} calls on one sandbox at once`)
    if (this.sink.pendingBytes > UNREAD_BYTES) throw new HearthError('too_many', 'the guest does not read its requests')
    const channel = new Channel(this, this.#nextChannel(), name, handlers)
    this.#sendRequest(name, message, channel.number)
    this.#channels.add(channel)
    channel.limitSilence(timeoutMs)
    return channel
  }

  /** From now on the guest may ask: to be called before it is told so. */
  serve(calls: GuestCalls): void {
    this.#guestChannels.calls = calls
  }

  /** Tells the keeper to stop the guest. From then on nothing is sent, and every new request is refused or waits, until `resume`. */
  pause(requests: 'refused' | 'wait' = 'refused'): void {
    this.#assertOpen()
    this.#paused = requests === 'refused'
    this.#freezing.stop()
  }

  /** Tells the keeper to let the guest go on, then sends what has waited. Harmless to a guest that runs. */
  resume(): void {
    this.#assertOpen()
    this.#paused = false
    this.#freezing.resume()
  }

  /**
   * Resolves when the guest has said its last word and holds its files still. Calls wait from then on, until `thaw`. Without `settle` the files
   * may be in the guest's memory alone.
   */
  async freeze(settle = true): Promise<Frozen> {
    this.#assertOpen()
    return await this.#freezing.freeze(settle, FREEZE_MS)
  }

  /** Harmless when it is not frozen, or over. One that was stopped meanwhile thaws when it resumes. */
  thaw(): void {
    if (this.#end === null) this.#freezing.thaw()
  }

  /** Before anything that is asked from now on. */
  tellTime(): void {
    this.sink.push(clockFrame())
  }

  /** False before the first `hello` is answered. */
  get welcomed(): boolean {
    return this.#welcomed
  }

  /** Asks the guest to end everything, to sync its file systems and to go away: the link then ends by itself. */
  shutdown(): void {
    this.#assertOpen()
    this.#send('Shutdown', {}, this.#nextChannel())
  }

  /** The time in milliseconds until the guest answered. */
  ping(timeoutMs: number = REQUEST_TIMEOUT_MS): Promise<number> {
    this.#assertOpen()
    return this.#pings.send(timeoutMs)
  }

  /** Lets go of the link after everything that was sent is on its way. Calls under way fail with `link_lost`. */
  async close(): Promise<void> {
    if (this.#end !== null) return
    const patience = sleep(CLOSE_MS, undefined, { ref: false })
    await Promise.race([this.sink.flushed(), this.ended, patience])
    this.#finish({ kind: 'closed', detail: 'the link was closed' })
  }

  /** Cuts the link at once. */
  destroy(): void {
    this.#finish({ kind: 'closed', detail: 'the link was closed' })
  }

  /** How the guest broke the protocol, if it did. */
  get violation(): string | null {
    return this.#end?.kind === 'violation' ? this.#end.detail : null
  }

  abandon(channel: Channel): void {
    this.#tableOf(channel.number).abandon(channel)
  }

  #received(chunk: Buffer, stable: boolean): true {
    try {
      this.#decoder.push(chunk, stable)
    } catch (error) {
      this.#failed(error)
    }
    return true
  }

  #failed(error: unknown): void {
    if (error instanceof WireError) this.#finish({ kind: 'violation', detail: error.message })
    else this.#finish({ kind: 'lost', detail: `a message could not be handled: ${String(error)}` })
  }

  #frame(type: number, number: number, payload: Buffer, stable: boolean): void {
    if (this.#greeting !== null) {
      if (this.#greeting.frame(type, number, payload)) this.#welcomed = true
      if (this.#welcomed) this.#greeting = null
      return
    }
    if (this.#freezing.silent) throw new WireError('a frame of a frozen guest')
    if (this.#tableOf(number).receive(this, type, number, payload, stable)) return
    // Before the greeting there is no session whose rules could be broken.
    if (!this.#welcomed) return
    if (number === 0 && type === MESSAGE_TYPES.Pong) this.#pings.received(payload)
    else if (number === 0 && type === MESSAGE_TYPES.Frozen) this.#freezing.received(payload)
    else if (number >= FIRST_GUEST_CHANNEL) this.#guestChannels.take(type, number, payload)
    else this.#channels.stray(number, payload.length)
  }

  #tableOf(number: number): ChannelTable {
    return number < FIRST_GUEST_CHANNEL ? this.#channels : this.#guestChannels
  }

  #nextChannel(): number {
    do this.#lastChannel = this.#lastChannel === LAST_CHANNEL ? 1 : this.#lastChannel + 1
    while (this.#channels.get(this.#lastChannel) !== undefined)
    return this.#lastChannel
  }

  #sendRequest<Name extends MessageName>(name: Name, message: Messages[Name], channel: number): void {
    try {
      this.#send(name, message, channel)
    } catch (cause) {
      if (!(cause instanceof WireError)) throw cause
      throw new HearthError('invalid_request', `${name}: the request is too large`, { cause })
    }
  }

  #send<Name extends MessageName>(name: Name, message: Messages[Name], channel: number): void {
    this.sink.push(encodeFrame(name, message, channel))
  }

  #assertOpen(): void {
    if (this.#end !== null) throw linkError(this.#end)
  }

  #endChannels(error: HearthError): void {
    this.#channels.endAll(error)
    this.#guestChannels.endAll(error)
  }

  #finish(end: LinkEnd): void {
    if (this.#end !== null) return
    this.#end = end
    this.#decoder.stop()
    this.sink.stop()
    this.#stream.destroy()
    const error = linkError(end)
    this.#greeting?.fail(error)
    this.#pings.fail(error)
    this.#freezing.fail(error)
    this.#endChannels(error)
    this.#resolveEnded(end)
  }
}
