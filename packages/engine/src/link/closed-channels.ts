import { BOUNDS } from '@hearth/contract'
import { STRAY_BYTES } from './requests.ts'
import { HEADER_BYTES, WireError } from './wire.ts'

const REMEMBERED = BOUNDS.channels

/**
 * Channels that the host gave up. The guest may have had more to say on them, and what it says is ignored, but only as much as
 * it can have sent before it heard of it.
 */
export class ClosedChannels {
  readonly #numbers = new Set<number>()
  /** Numbers up to this one may have been forgotten. */
  #forgotten = 0
  #allowance = 0

  add(channel: number, receiveCredit: number): void {
    this.#numbers.add(channel)
    this.#allowance += Math.max(0, receiveCredit) + STRAY_BYTES
    if (this.#numbers.size <= REMEMBERED) return
    for (const oldest of this.#numbers) {
      this.#numbers.delete(oldest)
      this.#forgotten = Math.max(this.#forgotten, oldest)
      return
    }
  }

  /** A frame has come on a channel that is not open. Throws when no close in flight explains it. */
  accept(channel: number, payloadBytes: number): void {
    if (!this.#numbers.has(channel) && channel > this.#forgotten)
      throw new WireError('a frame on a channel that is not open')
    this.#allowance -= payloadBytes + HEADER_BYTES
    if (this.#allowance < 0) throw new WireError('more frames on closed channels than can have been under way')
  }
}
