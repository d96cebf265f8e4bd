import type { Socket } from 'node:net'

/** A server that is dialed before it is known what the client wants of it. */
export class AheadDial {
  /** Resolves when the server speaks, or ends, before anybody has spoken to it. */
  readonly spoken: Promise<void>
  readonly #socket: Promise<Socket>
  #failure: Error | null = null
  readonly #heard: () => void

  constructor(socket: Promise<Socket>, failed: (error: Error) => void) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.spoken = promise
    this.#heard = resolve
    this.#socket = socket
    socket.then(
      (connected) => connected.once('readable', this.#heard),
      (error: unknown) => {
        this.#failure = error instanceof Error ? error : new Error(String(error))
        failed(this.#failure)
      },
    )
  }

  /** Why it cannot be reached, if that is known. */
  get failure(): Error | null {
    return this.#failure
  }

  /** What it has said already is still in the socket. */
  async take(): Promise<Socket> {
    const socket = await this.#socket
    socket.off('readable', this.#heard)
    return socket
  }

  discard(): void {
    this.#socket.then(
      (socket) => socket.destroy(),
      () => undefined,
    )
  }
}
