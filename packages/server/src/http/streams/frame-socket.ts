import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HearthError } from '@hearth/contract'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import { failureOf } from '../failures.ts'
import type { HttpLimits } from '../limits.ts'
import { clientGone } from '../operation.ts'

/** Bytes that wait for a client before the source of them is made to wait, and those of a client before it is. */
const HELD_BYTES = 1024 * 1024

export type Frame =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'text'; readonly text: string }

/** Makes WebSockets of upgrade requests. */
export class FrameSockets {
  readonly #server: WebSocketServer
  readonly #limits: HttpLimits

  constructor(limits: HttpLimits) {
    this.#limits = limits
    this.#server = new WebSocketServer({
      noServer: true,
      maxPayload: limits.messageBytes,
      perMessageDeflate: false,
      // The subprotocol with the key in it is never repeated to anyone.
      handleProtocols: (protocols) => (protocols.has('hearth') ? 'hearth' : false),
    })
  }

  accept(incoming: IncomingMessage, socket: Duplex, head: Buffer, requestId: string): Promise<FrameSocket> {
    const { promise, resolve, reject } = Promise.withResolvers<FrameSocket>()
    // The server answers a handshake that is wrong by itself and closes the connection.
    socket.once('close', () => reject(clientGone()))
    this.#server.handleUpgrade(incoming, socket, head, (webSocket) =>
      resolve(new FrameSocket(webSocket, this.#limits, requestId)),
    )
    return promise
  }
}

/** One WebSocket with frames in order, both ways at the pace of the slower side. */
export class FrameSocket {
  readonly #socket: WebSocket
  readonly #limits: HttpLimits
  readonly #requestId: string
  readonly #pings: NodeJS.Timeout
  readonly #frames: Frame[] = []
  #heldBytes = 0
  #wake: (() => void) | null = null
  #alive = true

  constructor(socket: WebSocket, limits: HttpLimits, requestId: string) {
    this.#socket = socket
    this.#limits = limits
    this.#requestId = requestId
    socket.on('message', (data, isBinary) => this.#received(data, isBinary))
    socket.on('pong', () => {
      this.#alive = true
    })
    // What is wrong with it also closes it.
    socket.on('error', () => this.#wake?.())
    socket.on('close', () => {
      clearInterval(this.#pings)
      this.#wake?.()
    })
    this.#pings = setInterval(() => this.#ping(), limits.pingMs)
  }

  get open(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  onClose(callback: () => void): void {
    if (this.#socket.readyState === this.#socket.CLOSED) callback()
    else this.#socket.once('close', callback)
  }

  async *frames(): AsyncGenerator<Frame, void> {
    for (;;) {
      const frame = this.#frames.shift()
      if (frame === undefined) {
        if (!this.open) return
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      this.#heldBytes -= sizeOf(frame)
      if (this.#heldBytes < HELD_BYTES && this.#socket.isPaused) this.#socket.resume()
      yield frame
    }
  }

  async sendBytes(bytes: Uint8Array): Promise<void> {
    await this.#send(bytes, true)
  }

  async sendEvent(event: object): Promise<void> {
    await this.#send(JSON.stringify(event), false)
  }

  /** The error as a text frame, then the close. */
  async fail(error: HearthError): Promise<void> {
    if (!this.open) return
    await this.sendEvent({ type: 'error', error: failureOf(error, this.#requestId) }).catch(() => {
      // It has closed meanwhile.
    })
    this.#socket.close(error.code === 'shutting_down' ? 1012 : 1011, error.code)
  }

  close(): void {
    this.#socket.close(1000)
  }

  terminate(): void {
    this.#socket.terminate()
  }

  async #send(data: string | Uint8Array, binary: boolean): Promise<void> {
    if (!this.open) throw clientGone()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#socket.send(data, { binary }, (error) => (error ? reject(clientGone()) : resolve()))
    // What still fits is sent while the next bytes are got; its failure shows at the next one.
    if (this.#socket.bufferedAmount < HELD_BYTES) return void promise.catch(() => {})
    const timer = setTimeout(() => this.terminate(), this.#limits.writeIdleMs)
    await promise.finally(() => clearTimeout(timer))
  }

  #received(data: RawData, isBinary: boolean): void {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.isBuffer(data) ? data : Buffer.from(data)
    const frame: Frame = isBinary ? { kind: 'bytes', bytes } : { kind: 'text', text: bytes.toString('utf8') }
    this.#frames.push(frame)
    this.#heldBytes += sizeOf(frame)
    if (this.#heldBytes >= HELD_BYTES) this.#socket.pause()
    this.#wake?.()
  }

  #ping(): void {
    // One that is paused cannot answer, and one that owes us reading is watched by the time of its writes.
    if (this.#socket.isPaused || this.#socket.bufferedAmount > 0) return
    if (!this.#alive) return this.terminate()
    this.#alive = false
    this.#socket.ping()
  }
}

/** Every frame has a cost, also an empty one. */
function sizeOf(frame: Frame): number {
  return 256 + (frame.kind === 'bytes' ? frame.bytes.length : frame.text.length)
}
