import type { Duplex } from 'node:stream'
import { fail, outgoingOf, prepare, relay, type ExchangeContext } from './exchange.ts'
import type { Upgrade } from './http1-server.ts'
import { valuesOf, type Headers, type UpstreamRequest, type UpstreamResponse } from './message.ts'
import type { PreparedRequest } from './prepare-request.ts'
import { refuse, upstreamFailed } from './refusal.ts'
import { recordRequest } from './request-record.ts'
import type { Switched } from './upstream-http1.ts'

/** A request to speak WebSocket. When the server agrees, frames go through until one side ends. */
export async function upgradeExchange(context: ExchangeContext, upgrade: Upgrade): Promise<void> {
  const { inbound, socket } = upgrade
  let prepared: PreparedRequest | null = null
  let request: UpstreamRequest | null = null
  try {
    prepared = await prepare(context, inbound)
    if (inbound.hasBody) throw refuse('malformed', 'a request for a WebSocket has no body')
    const outgoing = outgoingOf(prepared)
    const headers: Headers = [...outgoing.headers, ['Upgrade', 'websocket']]
    request = await context.upstream.request({ ...outgoing, headers }, () => undefined)
    socket.once('close', () => request?.abort())
    request.end([])
    const response = await request.response
    recordRequest(context.connection, inbound, prepared, response.status)
    if (isSwitched(response)) join(upgrade, response)
    else await relay(context, inbound, request, response)
  } catch (error) {
    request?.abort()
    fail(context, inbound, prepared, error)
  }
}

function isSwitched(response: UpstreamResponse): response is Switched {
  return 'socket' in response
}

function join({ socket, head }: Upgrade, response: Switched): void {
  if (valuesOf(response.headers, 'upgrade')[0]?.toLowerCase() !== 'websocket') {
    throw upstreamFailed('the server changed to another protocol than WebSocket')
  }
  const lines = response.headers.map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
  if (response.rest.length > 0) socket.write(response.rest)
  if (head.length > 0) response.socket.write(head)
  pipeBoth(socket, response.socket)
}

function pipeBoth(one: Duplex, other: Duplex): void {
  one.pipe(other).pipe(one)
  one.once('close', () => other.destroy())
  other.once('close', () => one.destroy())
  other.on('error', () => other.destroy())
}
