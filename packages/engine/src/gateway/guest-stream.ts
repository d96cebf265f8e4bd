import { Duplex } from 'node:stream'
import type { HearthError } from '@hearth/contract'
import { bulkBuffer, releaseBulkBuffer } from '../link/bulk-buffers.ts'
import { ChunkQueue } from '../link/chunk-queue.ts'
import type { Channel, ChannelHandlers } from '../link/channel.ts'
import { sendBytes } from '../link/upload.ts'
import { WireError } from '../link/wire.ts'

/** Told of the bytes of a connection: what the sandbox has sent, and what it gets. */
export interface Meter {
  sent(bytes: number): void
  received(bytes: number): void
}

/** Takes bytes that are its own only until it returns; `done` when the program may send as many again. */
type PieceTaker = (bytes: Uint8Array, done: () => void) => void

/** What a stream holds before it lets the guest wait, besides the credit of its channel. */
const HELD_BYTES = 128 * 1024

/** A connection that a program in a sandbox has made, as the host sees it. The guest ends its channel when both directions have ended. */
export class GuestStream extends Duplex {
  readonly #channel: Channel
  readonly #meter: Meter
  readonly #queue = new ChunkQueue()
  #wanted = false
  #taker: PieceTaker | null = null
  #received: 'open' | 'finished' = 'open'

  constructor(open: (handlers: ChannelHandlers) => Channel, meter: Meter) {
    super({ allowHalfOpen: true, readableHighWaterMark: HELD_BYTES, writableHighWaterMark: HELD_BYTES })
    this.#meter = meter
    this.#channel = open({
      Data: ({ bytes }, stable) => this.#take(bytes, stable),
      Eof: () => this.#finished(),
      Close: () => this.#closed(),
      ended: (error: HearthError) => void this.destroy(error),
    })
  }

  override _read(): void {
    this.#wanted = true
    while (this.#wanted) {
      const piece = this.#queue.take()
      if (piece === undefined) break
      this.#channel.grant(piece.data.length)
      this.#meter.sent(piece.data.length)
      this.#wanted = this.push(piece.data)
    }
    if (this.#wanted && this.#received === 'finished') this.push(null)
  }

  override _write(chunk: Uint8Array, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const sent = this.#send(chunk)
    if (sent === chunk.length) return done()
    void this.#sendRest(chunk.subarray(sent), done)
  }

  /**
   * As `write`, of bytes that are the caller's again when it returns, and only while nothing that was written waits. False when there shall be no
   * more before `resume` is called.
   */
  pass(bytes: Buffer, resume: () => void): boolean {
    const sent = this.#send(bytes)
    if (sent === bytes.length) return true
    const rest = bulkBuffer(bytes.length - sent)
    bytes.copy(rest, 0, sent)
    void this.#sendRest(rest, () => {
      releaseBulkBuffer(rest)
      resume()
    })
    return false
  }

  #send(bytes: Uint8Array): number {
    this.#meter.received(bytes.length)
    return this.#channel.trySend(bytes)
  }

  async #sendRest(rest: Uint8Array, done: (error?: Error | null) => void): Promise<void> {
    await sendBytes(this.#channel, rest)
    done(this.#channel.open ? null : reset())
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#channel.sendEof()
    done()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    // What has ended in both directions is closed by the guest, when the program has taken all of it.
    if (error !== null || !this.readableEnded || !this.writableFinished) this.#channel.close()
    this.#queue.clear()
    done(error)
  }

  /** From now on, instead of the stream; what that still holds comes first. Its end is told as that of the stream. */
  takeBy(taker: PieceTaker): void {
    for (let held = this.read() as Buffer | null; held !== null; held = this.read() as Buffer | null)
      taker(held, () => undefined)
    this.#taker = taker
    this.resume()
  }

  #take(bytes: Uint8Array, stable: boolean): void {
    if (this.#received === 'finished') throw new WireError('bytes after the end of a connection')
    if (bytes.length === 0) return
    if (this.#taker !== null) {
      this.#meter.sent(bytes.length)
      if (!this.destroyed) this.#taker(bytes, () => this.#channel.grant(bytes.length))
      return
    }
    this.#queue.push(0, bytes, stable)
    if (this.#wanted) this._read()
  }

  #finished(): void {
    this.#received = 'finished'
    if (this.#wanted) this._read()
  }

  /** The guest has ended it: as it should when both directions have, else the program has broken it off. */
  #closed(): void {
    if (this.#received === 'finished' && this.writableFinished) return
    this.destroy(reset())
  }
}

function reset(): Error {
  return Object.assign(new Error('the connection was reset'), { code: 'ECONNRESET' })
}
