import { BOUNDS, HearthError } from '@hearth/contract'
import { ChannelTable } from './channel-table.ts'
import { Channel, type ChannelHandlers, type ChannelOwner } from './channel.ts'
import { decode } from './dispatch.ts'
import { encodeFrame } from './encode-frame.ts'
import { Lane } from './lane.ts'
import type { LeanSocket } from './lean-socket.ts'
import { MESSAGE_TYPES, type Messages } from './messages.gen.ts'
import { WireError } from './wire.ts'

/** From here on the guest numbers channels that it opens itself. */
export const FIRST_GUEST_CHANNEL = 2 ** 31
/** Names of the domain name system are shorter. */
const NAME_CHARACTERS = 253
/** Answers that a guest does not read pile up to this. */
const UNREAD_BYTES = 16 * 1024 * 1024

/** What a guest may ask of its host. All of it is hostile. */
export interface GuestCalls {
  /** Answered at once. */
  lookup(name: string, scope: number): Messages['Address']
  /** A program inside has connected. `open` takes the connection up; without it the connection is refused. */
  dial(dialed: Messages['Dial'], open: (handlers: ChannelHandlers) => Channel): void
  /** A command has a network of its own, until `forget`. */
  narrow(process: number, policy: string): void
  forget(process: number): void
}

/** The channels that a guest has opened. */
export class GuestChannels extends ChannelTable {
  /** Null: the guest was not told that it may ask. */
  calls: GuestCalls | null = null
  readonly #owner: ChannelOwner
  readonly #connectLane: () => Promise<LeanSocket | null>
  readonly #failed: (error: unknown) => void
  /** One for each session, begun at its first lookup: a sandbox that looks up nothing has none. */
  #lane: Lane | null = null
  #narrowed = 0

  /** `failed` is told when a frame of the lane breaks a rule. */
  constructor(owner: ChannelOwner, connectLane: () => Promise<LeanSocket | null>, failed: (error: unknown) => void) {
    super()
    this.#owner = owner
    this.#connectLane = connectLane
    this.#failed = failed
  }

  override endAll(error: HearthError): void {
    this.#lane?.close()
    this.#lane = null
    super.endAll(error)
  }

  /** A frame on a channel that is not open: the first of one that the guest opens, or one that comes late. */
  take(type: number, number: number, payload: Buffer): void {
    if (type === MESSAGE_TYPES.Lookup) this.#lookup(number, decode('Lookup', payload))
    else if (type === MESSAGE_TYPES.Narrowed) this.#narrow(number, decode('Narrowed', payload))
    else this.#takeOn(this.#owner, type, number, payload)
  }

  /** Of the link or the lane. */
  #takeOn(carrier: ChannelOwner, type: number, number: number, payload: Buffer): void {
    if (type === MESSAGE_TYPES.Dial) this.#dial(carrier, number, decode('Dial', payload))
    else this.stray(number, payload.length)
  }

  #openLane(): Lane {
    return new Lane(this.#connectLane, {
      frame: (lane, type, number, payload, stable) => {
        if (number < FIRST_GUEST_CHANNEL) throw new WireError('a channel of the host on the lane')
        if (!this.receive(lane, type, number, payload, stable)) this.#takeOn(lane, type, number, payload)
      },
      failed: this.#failed,
      ended: (lane) => this.endCarriedBy(lane, new HearthError('link_lost', 'the lane has ended')),
      abandon: (channel) => this.abandon(channel),
    })
  }

  #lookup(number: number, { name, scope }: Messages['Lookup']): void {
    if (name.length > NAME_CHARACTERS) throw new WireError('a name is longer than names are')
    const address = this.#served().lookup(name, scope)
    this.#owner.sink.push(encodeFrame('Address', address, number))
    this.#lane ??= this.#openLane()
  }

  #dial(owner: ChannelOwner, number: number, dialed: Messages['Dial']): void {
    const calls = this.#served(owner)
    let taken = false
    if (this.size < BOUNDS.gatewayConnections) {
      calls.dial(dialed, (handlers) => {
        taken = true
        const channel = new Channel(owner, number, 'Dial', handlers)
        this.add(channel)
        return channel
      })
    }
    if (taken) return
    owner.sink.push(encodeFrame('Close', {}, number))
    // The guest has begun to send already.
    this.refused(number)
  }

  /** The channel is open as long as something of the command is there. */
  #narrow(number: number, { process, policy }: Messages['Narrowed']): void {
    const calls = this.#served()
    if (process === 0) throw new WireError('the machine itself is narrowed')
    if (this.#narrowed >= BOUNDS.narrowedCommands) throw new WireError('more commands are narrowed than can be')
    this.#narrowed++
    const gone = (): void => {
      this.#narrowed--
      calls.forget(process)
    }
    this.add(new Channel(this.#owner, number, 'Narrowed', { Close: gone, ended: gone }))
    calls.narrow(process, policy)
  }

  #served(owner = this.#owner): GuestCalls {
    if (this.calls === null) throw new WireError('the guest asks for names and was not told that it may')
    if (owner.sink.pendingBytes > UNREAD_BYTES) throw new WireError('the guest asks and does not read the answers')
    return this.calls
  }
}
