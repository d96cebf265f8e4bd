import { finished } from 'node:stream'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { InspectedConnection } from '../connection.ts'
import { openTls } from '../tls/open-tls.ts'
import { exchange, type ExchangeContext } from './exchange.ts'
import { serveHttp1 } from './http1-server.ts'
import { serveHttp2 } from './http2-server.ts'
import { HTTP_LIMITS, type HttpLimits } from './limits.ts'
import type { Inbound } from './message.ts'
import { recordRefusal } from './request-record.ts'
import { Upstream } from './upstream.ts'
import { upgradeExchange } from './upgrade-exchange.ts'

/**
 * Serves the requests of a connection, each checked, recorded and made anew toward the server. Resolves when the connection is over: with null,
 * or with what kept it from being served. Nothing that a client or a server does makes it throw.
 */
export async function serveInspected(
  connection: InspectedConnection,
  limits: HttpLimits = HTTP_LIMITS,
): Promise<string | null> {
  const { stream, signal } = connection
  stream.on('error', () => stream.destroy())
  const end = (): void => void stream.destroy()
  signal.addEventListener('abort', end, { once: true })
  try {
    if (signal.aborted) return 'it is no longer allowed'
    const socket = connection.secure ? await open(connection, limits) : stream
    await serve(socket, connection, limits)
    return null
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  } finally {
    signal.removeEventListener('abort', end)
    stream.destroy()
  }
}

async function open(connection: InspectedConnection, limits: HttpLimits): Promise<TLSSocket> {
  const { stream, authority, name } = connection
  const socket = await openTls(stream, authority, name, limits.headMs)
  socket.on('error', () => socket.destroy())
  return socket
}

async function serve(socket: Duplex | TLSSocket, connection: InspectedConnection, limits: HttpLimits): Promise<void> {
  const multiplexed = 'alpnProtocol' in socket && socket.alpnProtocol === 'h2'
  const upstream = new Upstream(connection, multiplexed, limits)
  const context: ExchangeContext = { connection, upstream, limits }
  const { promise, resolve } = Promise.withResolvers<void>()
  finished(socket, () => resolve())
  try {
    // What clients and servers do is answered and recorded before: this is a failure of the gateway.
    const failed = (error: unknown): void => {
      connection.onProblem(`a request to ${connection.name}`, error)
      socket.destroy()
    }
    const request = (inbound: Inbound): Promise<void> => exchange(context, inbound).catch(failed)
    if (multiplexed) serveHttp2(socket, connection.stream, request, limits)
    else {
      serveHttp1(
        socket,
        {
          request,
          upgrade: (upgrade) => upgradeExchange(context, upgrade).catch(failed),
          unreadable: (error) => recordRefusal(connection, error, null),
        },
        limits,
      )
    }
    await promise
  } finally {
    upstream.close()
    socket.destroy()
  }
}
