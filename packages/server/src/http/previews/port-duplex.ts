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

  override _write(chunk: Buffer, _encoding: BufferEncoding, finish: (error?: Error | null) => void): void {
    this.#connection.write(chunk).then(() => finish(), finish)
  }

  override _final(finish: (error?: Error | null) => void): void {
    this.#connection.end().then(() => finish(), finish)
  }

  override _destroy(error: Error | null, finish: (error?: Error | null) => void): void {
    this.#connection.close().then(
      () => finish(error),
      (failure: Error) => finish(error ?? failure),
    )
  }
}
