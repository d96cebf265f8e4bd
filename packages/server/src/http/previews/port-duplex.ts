import { Duplex } from 'node:stream'
import type { PortConnection } from '@hearth/contract'

/** A connection to a port as a stream of Node, so that its HTTP client can speak over it. */
export class PortDuplex extends Duplex {
  readonly #connection: PortConnection
  readonly #chunks: AsyncIterator<Uint8Array>

  constructor(connection: PortConnection) {
    super({ allowHalfOpen: true })
    this.#connection = connection
    this.#chunks = connection.data[Symbol.asyncIterator]()
  }

  override _read(): void {
    this.#chunks.next().then(
      (next) => this.push(next.done === true ? null : next.value),
      (error: Error) => this.destroy(error),
    )
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#connection.write(chunk).then(() => done(), done)
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#connection.end().then(() => done(), done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#connection.close().then(
      () => done(error),
      (failure: Error) => done(error ?? failure),
    )
  }
}
