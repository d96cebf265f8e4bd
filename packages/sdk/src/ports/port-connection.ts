import type { PortConnection } from '@hearth/contract'
import { abortError, assertNotAborted, HearthError } from '../hearth-error.ts'
import type { SandboxClient, WebSocketLike } from '../sandboxes/sandbox-client.ts'
import { wireFailure } from '../transport/failures.ts'
import { ReceiveQueue } from './receive-queue.ts'

/** What the server may send ahead of what was taken; the API names the same number. */
const WINDOW_BYTES = 1024 * 1024
const FRAME_BYTES = 64 * 1024
const SEND_AHEAD_BYTES = 1024 * 1024
const SEND_CHECK_MS = 5

/** A connection to a port of a sandbox over a WebSocket. Resolves when the program inside has accepted it. */
export async function connectPort(client: SandboxClient, port: number, signal?: AbortSignal): Promise<PortConnection> {
  assertNotAborted(signal)
  const connection = new WebSocketConnection(openSocket(client, `/ports/${port}/stream`))
  const onAbort = (): void => {
    if (signal !== undefined) connection.fail(abortError(signal))
  }
  signal?.addEventListener('abort', onAbort, { once: true })
  try {
    await connection.opened
    return connection
  } catch (error) {
    // A WebSocket does not tell why it was refused; a plain request does.
    if (!connection.wasUpgraded && signal?.aborted !== true) await client.json({ method: 'GET', path: '', signal })
    throw client.explained(error)
  } finally {
    signal?.removeEventListener('abort', onAbort)
  }
}

function openSocket(client: SandboxClient, path: string): WebSocketLike {
  const { http, WebSocket } = client.connection
  if (WebSocket === null) {
    throw new HearthError('capability_unsupported', 'this JavaScript runtime has no WebSocket', {
      suggestion: 'Use Node 22 or newer, or pass a standard `WebSocket` class to `new Hearth({ WebSocket })`.',
    })
  }
  const url = http.urlOf(client.pathOf(path)).replace(/^http/, 'ws')
  try {
    return new WebSocket(url, http.webSocketProtocols())
  } catch (cause) {
    throw new HearthError('invalid_request', 'a WebSocket cannot carry this key', { cause })
  }
}

class WebSocketConnection implements PortConnection {
  /** Resolves when the program in the sandbox has accepted the connection. */
  readonly opened: Promise<void>
  readonly #socket: WebSocketLike
  readonly #queue: ReceiveQueue
  #resolveOpened: () => void = () => {}
  #rejectOpened: (error: HearthError) => void = () => {}
  #failure: HearthError | null = null
  #receiving: 'open' | 'finished' = 'open'
  #sending: 'open' | 'finished' | 'closed' = 'open'
  #lastWrite: Promise<void> = Promise.resolve()
  #upgraded = false

  constructor(socket: WebSocketLike) {
    this.#socket = socket
    this.#queue = new ReceiveQueue(
      (bytes) => this.#taken(bytes),
      () => void this.close(),
    )
    this.opened = new Promise((resolve, reject) => {
      this.#resolveOpened = resolve
      this.#rejectOpened = reject
    })
    // Failing after it was opened is told to readers and writers instead.
    this.opened.catch(() => {})
    socket.binaryType = 'arraybuffer'
    socket.addEventListener('open', () => {
      this.#upgraded = true
    })
    socket.addEventListener('message', ({ data }) => this.#received(data))
    socket.addEventListener('close', () => this.#closed())
    // The close event follows and says all that there is to say.
    socket.addEventListener('error', () => {})
  }

  get wasUpgraded(): boolean {
    return this.#upgraded
  }

  get data(): AsyncIterable<Uint8Array> {
    return this.#queue
  }

  write(data: Uint8Array): Promise<void> {
    return this.#after(async () => {
      for (let start = 0; start < data.length; start += FRAME_BYTES) {
        await this.#writable()
        // A copy: a WebSocket takes the bytes when it sends them, which may be after the caller has changed them.
        this.#socket.send(data.slice(start, start + FRAME_BYTES))
      }
      await this.#writable()
    })
  }

  end(): Promise<void> {
    return this.#after(async () => {
      if (this.#sending !== 'open') return
      this.#socket.send(JSON.stringify({ type: 'eof' }))
      this.#sending = 'finished'
    })
  }

  async close(): Promise<void> {
    this.#shut()
    this.#queue.end(null)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  fail(error: HearthError): void {
    this.#failure ??= error
    this.#rejectOpened(error)
    this.#queue.end(error)
    this.#shut()
  }

  #shut(): void {
    this.#sending = 'closed'
    this.#socket.close(1000)
  }

  #received(data: unknown): void {
    if (typeof data === 'string') return this.#message(data)
    if (!(data instanceof ArrayBuffer)) return this.fail(new HearthError('protocol_violation', 'a frame without bytes'))
    if (this.#receiving === 'finished') return
    this.#queue.push(new Uint8Array(data))
    if (this.#queue.bytes > WINDOW_BYTES) {
      this.fail(new HearthError('protocol_violation', 'the server sent more of a port than it may'))
    }
  }

  #message(text: string): void {
    let message: { readonly type?: unknown; readonly error?: unknown }
    try {
      message = JSON.parse(text) as typeof message
    } catch (cause) {
      return this.fail(new HearthError('protocol_violation', 'a frame of a port is not JSON', { cause }))
    }
    if (message.type === 'open') this.#resolveOpened()
    else if (message.type === 'eof') this.#finish()
    else if (message.type === 'error') this.fail(wireFailure(message.error))
  }

  #finish(): void {
    this.#receiving = 'finished'
    this.#queue.end(null)
  }

  #closed(): void {
    if (this.#sending === 'closed') return
    const lost = this.#upgraded ? 'the connection to the port was closed' : 'the server refused a WebSocket'
    if (this.#receiving === 'finished') this.#sending = 'closed'
    else this.fail(new HearthError('link_lost', lost))
  }

  #taken(bytes: number): void {
    if (this.#receiving === 'open' && this.#sending !== 'closed') {
      this.#socket.send(JSON.stringify({ type: 'credit', bytes }))
    }
  }

  /** Waits while much is under way: a standard WebSocket has no event for that. */
  async #writable(): Promise<void> {
    while (this.#sending === 'open' && this.#socket.bufferedAmount > SEND_AHEAD_BYTES) {
      await new Promise((resolve) => setTimeout(resolve, SEND_CHECK_MS))
    }
    if (this.#sending !== 'open') {
      throw this.#failure ?? new HearthError('port_refused', 'this side of the connection has ended')
    }
  }

  #after(step: () => Promise<void>): Promise<void> {
    const result = this.#lastWrite.then(step)
    // Each caller hears of its own failure.
    this.#lastWrite = result.catch(() => {})
    return result
  }
}
