import { Agent } from 'node:http'
import type { ClientHttp2Session } from 'node:http2'
import type { Duplex } from 'node:stream'
import { callbackify } from 'node:util'
import { HearthError } from '@hearth/contract'
import type { InspectedConnection } from '../connection.ts'
import { dialTls } from '../tls/dial-tls.ts'
import type { HttpLimits } from './limits.ts'
import type { Outgoing, UpstreamRequest } from './message.ts'
import { upstreamFailed, upstreamLate } from './refusal.ts'
import { requestHttp1, type Proceed } from './upstream-http1.ts'
import { openSession, requestHttp2 } from './upstream-http2.ts'

/** Connections of HTTP/1.1 that the streams of one HTTP/2 client share. */
const SHARED_SOCKETS = 16

/** The way to the server for one inspected connection. Nothing of it is shared with any other connection. */
export class Upstream {
  readonly #connection: InspectedConnection
  readonly #limits: HttpLimits
  readonly #multiplexed: boolean
  readonly #agent: Agent
  readonly #closing = new AbortController()
  /** Made while the protocol of the server was found out. */
  #spare: Duplex | null = null
  #session: Promise<ClientHttp2Session | null> | null = null

  constructor(connection: InspectedConnection, multiplexed: boolean, limits: HttpLimits) {
    this.#connection = connection
    this.#limits = limits
    this.#multiplexed = multiplexed && connection.secure
    // One at a time for HTTP/1.1, so that requests in a pipeline keep their order.
    this.#agent = new UpstreamAgent(() => this.#open(['http/1.1']), multiplexed ? SHARED_SOCKETS : 1)
  }

  async request(outgoing: Outgoing, proceed: Proceed): Promise<UpstreamRequest> {
    const session = this.#multiplexed ? await this.#sessionNow() : null
    return session === null
      ? requestHttp1(this.#agent, outgoing, proceed, this.#limits)
      : requestHttp2(session, outgoing, proceed, this.#limits)
  }

  close(): void {
    this.#closing.abort()
    this.#agent.destroy()
    this.#spare?.destroy()
    this.#session?.then(
      (session) => session?.destroy(),
      () => undefined,
    )
  }

  /** Null when the server has no HTTP/2. */
  async #sessionNow(): Promise<ClientHttp2Session | null> {
    const present = await this.#session?.catch(() => undefined)
    if (present === null || (present !== undefined && !present.closed && !present.destroyed)) return present
    this.#session = this.#openSession()
    return await this.#session
  }

  async #openSession(): Promise<ClientHttp2Session | null> {
    const socket = await this.#open(['h2', 'http/1.1'])
    if ('alpnProtocol' in socket && socket.alpnProtocol === 'h2') return openSession(socket, this.#limits)
    this.#spare = socket
    return null
  }

  async #open(protocols: readonly string[]): Promise<Duplex> {
    const spare = this.#spare
    this.#spare = null
    if (spare !== null && !spare.destroyed) return spare
    const { name, port, secure, dial, extraRoots, signal } = this.#connection
    try {
      const socket = await dial(AbortSignal.any([signal, this.#closing.signal]))
      const opened = secure ? await dialTls(socket, name, protocols, extraRoots) : socket
      if (!this.#closing.signal.aborted) return opened
      opened.destroy()
      throw new HearthError('aborted', 'the client has gone')
    } catch (error) {
      throw asFailure(error, `${name}:${port}`)
    }
  }
}

function asFailure(error: unknown, where: string): HearthError {
  if (HearthError.isInstance(error) && error.code === 'egress_refused') return error
  const text = error instanceof Error ? error.message : String(error)
  return /time/i.test(text)
    ? upstreamLate(`${where} did not answer in time: ${text}`)
    : upstreamFailed(`${where} cannot be reached: ${text}`, error)
}

class UpstreamAgent extends Agent {
  readonly #open: (callback: (error: Error | null, stream: Duplex) => void) => void

  constructor(open: () => Promise<Duplex>, sockets: number) {
    super({ keepAlive: true, maxSockets: sockets, maxFreeSockets: sockets })
    this.#open = callbackify(open)
  }

  override createConnection(_options: unknown, callback?: (error: Error | null, stream: Duplex) => void): undefined {
    if (callback !== undefined) this.#open(callback)
  }
}
