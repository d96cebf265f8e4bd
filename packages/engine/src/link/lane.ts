import type { Channel, ChannelOwner } from './channel.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { FrameSink } from './frame-sink.ts'
import type { LeanSocket } from './lean-socket.ts'

/** What a lane needs of its link. */
export interface LaneOwner {
  /** Of the guest; throws when it breaks a rule. */
  frame(lane: ChannelOwner, type: number, number: number, payload: Buffer, stable: boolean): void
  /** A frame could not be handled. */
  failed(error: unknown): void
  /** It is over, and what it carried with it. Called once it was open, unless it was closed here. */
  ended(lane: ChannelOwner): void
  abandon(channel: Channel): void
}

/**
 * A second stream to a guest, for the connections that its programs make: it does not lead through the keeper. Where it cannot be had, or not
 * yet, the link carries them.
 */
export class Lane {
  readonly #owner: LaneOwner
  #closed = false
  #close: (() => void) | null = null

  constructor(connect: () => Promise<LeanSocket | null>, owner: LaneOwner) {
    this.#owner = owner
    void this.#open(connect)
  }

  close(): void {
    this.#closed = true
    this.#close?.()
  }

  async #open(connect: () => Promise<LeanSocket | null>): Promise<void> {
    const socket = await connect()
    if (socket === null) return
    if (this.#closed) return void socket.destroy()
    const owner = this.#owner
    const lane: ChannelOwner = { sink: new FrameSink(socket), abandon: (channel) => owner.abandon(channel) }
    const decoder = new FrameDecoder((type, number, payload, stable) =>
      owner.frame(lane, type, number, payload, stable),
    )
    this.#close = () => {
      this.#closed = true
      decoder.stop()
      lane.sink.stop()
      socket.destroy()
    }
    socket.on('error', () => socket.destroy())
    socket.on('end', () => socket.destroy())
    socket.on('close', () => {
      if (this.#closed) return
      this.close()
      owner.ended(lane)
    })
    socket.takeBy((bytes) => {
      try {
        decoder.push(bytes, false)
      } catch (error) {
        owner.failed(error)
      }
      return true
    })
  }
}
