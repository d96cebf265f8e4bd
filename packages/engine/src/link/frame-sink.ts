import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { bulkBuffer, DATA_FRAME_BYTES, releaseBulkBuffer } from './bulk-buffers.ts'
import { HEADER_BYTES } from './wire.ts'
import { MESSAGE_TYPES } from './messages.gen.ts'

/** Bytes on their way into the stream before senders of data wait. */
const CONGESTED_BYTES = 512 * 1024

/** Writes frames: all those of one turn of the event loop together, data only as fast as the stream takes it. */
export class FrameSink {
  readonly #stream: Duplex
  /** What it says is written is with the kernel, and no longer in the frame. */
  readonly #copies: boolean
  readonly #waiting: (() => void)[] = []
  #frames: Uint8Array[] = []
  #pendingBytes = 0
  #scheduled = false
  #stopped = false
  #held = false

  constructor(stream: Duplex) {
    this.#stream = stream
    this.#copies = stream instanceof Socket
  }

  /** Bytes that the stream has not taken yet. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  get congested(): boolean {
    return this.#pendingBytes >= CONGESTED_BYTES
  }

  /** The frame belongs to the sink from now on. */
  push(frame: Uint8Array): void {
    this.#frames.push(frame)
    this.#pendingBytes += frame.length
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(() => this.#flush())
  }

  /** True while nothing goes out. */
  get held(): boolean {
    return this.#held
  }

  /** Sends what was pushed so far and this frame, and keeps what is pushed from now on. */
  hold(last: Uint8Array): void {
    this.#flush()
    this.#held = true
    if (!this.#stopped) this.#stream.write(last)
  }

  /** Sends this frame, then what was kept. */
  resume(first: Uint8Array): void {
    this.#held = false
    if (!this.#stopped) this.#stream.write(first)
    this.#flush()
  }

  /** Copies the bytes: whatever their owner does with them later, a guest never sees it. */
  pushData(channel: number, bytes: Uint8Array): void {
    const frame = bulkBuffer(HEADER_BYTES + bytes.length)
    frame.writeUInt32LE(bytes.length, 0)
    frame.writeUInt32LE(MESSAGE_TYPES.Data, 4)
    frame.writeUInt32LE(channel, 8)
    frame.set(bytes, HEADER_BYTES)
    this.push(frame)
  }

  /** Resolves when there is room for data again; those who wait are served in turn. */
  whenUncongested(): Promise<void> {
    if (!this.congested || this.#stopped) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  /** Resolves when everything that was pushed so far is in the stream's hands. */
  flushed(): Promise<void> {
    this.#flush()
    return new Promise((resolve) => (this.#stopped ? resolve() : this.#stream.write('', () => resolve())))
  }

  /** Drops what is queued and lets everybody go who waits. */
  stop(): void {
    this.#stopped = true
    this.#frames = []
    for (const resume of this.#waiting.splice(0)) resume()
  }

  #flush(): void {
    this.#scheduled = false
    const frames = this.#frames
    if (this.#stopped || this.#held || frames.length === 0) return
    this.#frames = []
    let bytes = 0
    for (const frame of frames) bytes += frame.length
    const written = (error?: Error | null): void => {
      this.#written(bytes)
      if (this.#copies && !error) for (const frame of frames) releaseBulkBuffer(frame)
    }
    const last = frames.length - 1
    if (last > 0) this.#stream.cork()
    for (const [index, frame] of frames.entries()) {
      if (index === last) this.#stream.write(frame, written)
      else this.#stream.write(frame)
    }
    if (last > 0) this.#stream.uncork()
  }

  #written(bytes: number): void {
    this.#pendingBytes -= bytes
    // Each one that wakes sends about one frame before it asks again.
    let room = Math.ceil((CONGESTED_BYTES - this.#pendingBytes) / DATA_FRAME_BYTES)
    for (; room > 0 && this.#waiting.length > 0; room--) this.#waiting.shift()?.()
  }
}
