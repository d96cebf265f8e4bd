import { HearthError, type PortConnection } from '@hearth/contract'
import { assertNotAborted, onAbort } from '../link/abort.ts'
import type { Channel } from '../link/channel.ts'
import { ChunkQueue } from '../link/chunk-queue.ts'
import type { Link } from '../link/link.ts'
import { Pull } from '../link/pull.ts'
import { sendBytes } from '../link/upload.ts'
import { WireError } from '../link/wire.ts'

/** Connects to a port on the loopback address of the sandbox. The signal is for the connecting alone. */
export function connectPort(link: Link, port: number, signal?: AbortSignal): Promise<PortConnection> {
  return new Promise((resolve, reject: (error: HearthError) => void) => {
    assertNotAborted(signal)
    let connection: LinkPort | null = null
    const connected = (): LinkPort => {
      if (connection === null) throw new WireError('bytes of a connection before it was made')
      return connection
    }
    const channel = link.open(
      'Connect',
      { port },
      {
        Connected: () => {
          if (connection !== null) throw new WireError('one connection was made twice')
          release()
          channel.limitSilence(0)
          connection = new LinkPort(channel)
          resolve(connection)
        },
        Data: ({ bytes }, stable) => connected().received(bytes, stable),
        Eof: () => connected().finished(),
        Close: () => connected().closed(),
        ended: (error) => {
          release()
          if (connection === null) reject(error)
          else connection.failed(error)
        },
      },
    )
    const release = onAbort(signal, (error) => channel.fail(error))
  })
}

class LinkPort implements PortConnection {
  readonly #channel: Channel
  readonly #queue = new ChunkQueue()
  readonly #chunks: Pull<Uint8Array>
  #lastWrite: Promise<void> = Promise.resolve()
  #received: 'open' | 'finished' = 'open'
  #sent: 'open' | 'finished' = 'open'

  constructor(channel: Channel) {
    this.#channel = channel
    this.#chunks = new Pull({ take: () => this.#take(), abandoned: () => channel.close() })
  }

  get data(): AsyncIterable<Uint8Array> {
    return this.#chunks
  }

  write(data: Uint8Array): Promise<void> {
    return this.#after(async () => {
      if (this.#sent === 'finished') throw resetError('this side of the connection has ended')
      await sendBytes(this.#channel, data)
      if (!this.#channel.open) throw this.#channel.failure ?? resetError('the connection was closed')
    })
  }

  end(): Promise<void> {
    return this.#after(async () => {
      if (this.#sent === 'open') this.#channel.sendEof()
      this.#sent = 'finished'
    })
  }

  async close(): Promise<void> {
    this.#channel.close()
    this.#chunks.end(null)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  received(bytes: Uint8Array, stable: boolean): void {
    if (this.#received === 'finished') throw new WireError('bytes after the end of a connection')
    if (bytes.length > 0) this.#queue.push(0, bytes, stable)
    this.#chunks.notify()
  }

  /** The other side sends no more. */
  finished(): void {
    this.#received = 'finished'
    this.#chunks.end(null)
  }

  closed(): void {
    this.#chunks.end(this.#received === 'finished' ? null : resetError('the connection was reset'))
  }

  failed(error: HearthError): void {
    this.#chunks.end(error)
  }

  #take(): Uint8Array | undefined {
    const data = this.#queue.take()?.data
    if (data !== undefined) this.#channel.grant(data.length)
    return data
  }

  #after(step: () => Promise<void>): Promise<void> {
    const result = this.#lastWrite.then(step)
    // Each caller hears of its own failure.
    this.#lastWrite = result.catch(() => {})
    return result
  }
}

function resetError(message: string): HearthError {
  return new HearthError('port_refused', message, {
    suggestion: 'Connect again if the program in the sandbox still listens.',
  })
}
