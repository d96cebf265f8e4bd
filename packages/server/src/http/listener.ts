import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { HearthError, newId } from '@hearth/contract'
import { holdBody } from './bodies/expect-continue.ts'
import { refuseSocket } from './failures.ts'
import type { HttpLimits } from './limits.ts'
import type { Operation } from './operation.ts'
import type { Operations } from './operations.ts'
import { hasTwoHosts, parserFailure, refuseRequest } from './requests.ts'

/** What speaks on a listener. Neither method throws: each answers whatever happens. */
export interface Speaker {
  request(incoming: IncomingMessage, outgoing: ServerResponse, operation: Operation): void
  upgrade(incoming: IncomingMessage, socket: Duplex, head: Buffer): void
}

/** One address on which HTTP is spoken, within the limits of the server. */
export class Listener {
  readonly #server: Server
  readonly #operations: Operations
  readonly #speaker: Speaker
  #stopping = false

  constructor(limits: HttpLimits, operations: Operations, speaker: Speaker) {
    this.#operations = operations
    this.#speaker = speaker
    this.#server = this.#create(limits)
  }

  get address(): AddressInfo {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new HearthError('internal', 'the server does not listen')
    return address
  }

  get url(): string {
    const { address, family, port } = this.address
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  async start(host: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
  }

  /** A connection that did not come over its address. */
  take(connection: Duplex): void {
    if (this.#stopping) connection.destroy()
    else this.#server.emit('connection', connection)
  }

  /** No new connection from here on. What it gives ends the ones that there are, and resolves when they have gone. */
  close(): () => Promise<void> {
    this.#stopping = true
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
    return async () => {
      this.#server.closeAllConnections()
      await closed
    }
  }

  #create(limits: HttpLimits): Server {
    const server = createServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      // Bodies have their own bounds: a large file may take long.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(5000, Math.max(100, limits.headersMs / 2)),
      insecureHTTPParser: false,
      shouldUpgradeCallback: (incoming) => incoming.headers.upgrade?.toLowerCase() === 'websocket',
    })
    server.maxConnections = limits.connections
    server.on('request', (incoming, outgoing) => this.#request(incoming, outgoing))
    server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      holdBody(incoming, outgoing)
      this.#request(incoming, outgoing)
    })
    server.on('upgrade', (incoming, socket, head) => this.#speaker.upgrade(incoming, socket, head))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseSocket(socket, parserFailure(error), newId('req')),
    )
    return server
  }

  #request(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const operation = this.#operations.begin(incoming, outgoing)
    if (this.#stopping) outgoing.setHeader('connection', 'close')
    if (hasTwoHosts(incoming))
      return refuseRequest(outgoing, operation, new HearthError('invalid_request', 'there are two hosts'))
    this.#speaker.request(incoming, outgoing, operation)
  }
}
