import { BOUNDS, type HearthError } from '@hearth/contract'
import type { Channel, ChannelOwner } from './channel.ts'
import { ClosedChannels } from './closed-channels.ts'
import { dispatch } from './dispatch.ts'
import { WireError } from './wire.ts'

/** Channels that one side has opened, and those that the host gave up. */
export class ChannelTable {
  readonly #open = new Map<number, Channel>()
  readonly #closed = new ClosedChannels()

  get size(): number {
    return this.#open.size
  }

  get(number: number): Channel | undefined {
    return this.#open.get(number)
  }

  add(channel: Channel): void {
    this.#open.set(channel.number, channel)
  }

  forget(channel: Channel): void {
    this.#open.delete(channel.number)
  }

  /** Gives a frame to its channel. False when there is none of that number. */
  receive(carrier: ChannelOwner, type: number, number: number, payload: Buffer, stable: boolean): boolean {
    const channel = this.#open.get(number)
    if (channel === undefined) return false
    try {
      if (!channel.isCarriedBy(carrier)) throw new WireError('a frame beside the way of its channel')
      if (dispatch(channel, type, payload, stable, () => this.forget(channel))) return true
      throw new WireError(`type ${type} is not an answer to ${channel.request}`)
    } catch (error) {
      // Also one whose last message was the bad one must hear of the end of the link.
      this.add(channel)
      throw error
    }
  }

  /** The host gives it up; what the guest still says on it is ignored. */
  abandon(channel: Channel): void {
    if (this.#open.delete(channel.number)) this.#closed.add(channel.number, channel.receiveCredit)
  }

  /** As `abandon`, of one that was never opened. */
  refused(number: number): void {
    this.#closed.add(number, BOUNDS.channelWindowBytes)
  }

  /** A frame has come on a channel that is not open. Throws when no close in flight explains it. */
  stray(number: number, payloadBytes: number): void {
    this.#closed.accept(number, payloadBytes)
  }

  /** Those whose frames go this way. */
  endCarriedBy(owner: ChannelOwner, error: HearthError): void {
    const channels = [...this.#open.values()].filter((channel) => channel.isCarriedBy(owner))
    for (const { number } of channels) this.#open.delete(number)
    for (const channel of channels) channel.end(error)
  }

  endAll(error: HearthError): void {
    const channels = [...this.#open.values()]
    this.#open.clear()
    for (const channel of channels) channel.end(error)
  }
}
