import { BOUNDS } from '@hearth/contract'
import { ChannelTable } from './channel-table.ts'
import { Channel, type ChannelHandlers, type ChannelOwner } from './channel.ts'
import { decode } from './dispatch.ts'
import { encodeFrame } from './encode-frame.ts'
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
  #narrowed = 0

  constructor(owner: ChannelOwner) {
    super()
    this.#owner = owner
  }

  /** A frame on a channel that is not open: the first of one that the guest opens, or one that comes late. */
  take(type: number, number: number, payload: Buffer): void {
    if (type === MESSAGE_TYPES.Lookup) this.#lookup(number, decode('Lookup', payload))
    else if (type === MESSAGE_TYPES.Narrowed) this.#narrow(number, decode('Narrowed', payload))
    else this.takeOnLane(this.#owner, type, number, payload)
  }

  /** As `take`, where nothing but connections is begun. */
  takeOnLane(lane: ChannelOwner, type: number, number: number, payload: Buffer): void {
    if (type === MESSAGE_TYPES.Dial) this.#dial(lane, number, decode('Dial', payload))
    else this.stray(number, payload.length)
  }

  #lookup(number: number, { name, scope }: Messages['Lookup']): void {
    if (name.length > NAME_CHARACTERS) throw new WireError('a name is longer than names are')
    const address = this.#served().lookup(name, scope)
    this.#owner.sink.push(encodeFrame('Address', address, number))
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
    if (owner.sink.pendingBytes > UNREAD_BYTES)
      throw new WireError('the guest asks and does not read the answers')
    return this.calls
  }
}
