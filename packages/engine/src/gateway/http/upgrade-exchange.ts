import { finished, type Duplex } from 'node:stream'
import { HearthError } from '@hearth/contract'
import type { InspectedConnection } from '../connection.ts'
import type { SearchTime } from '../secrets/search-time.ts'
import { check, fail, outgoingOf, relay, type ExchangeContext } from './exchange.ts'
import type { Upgrade } from './http1-server.ts'
import {
  valuesOf,
  without,
  type Headers,
  type Inbound,
  type UpstreamRequest,
  type UpstreamResponse,
} from './message.ts'
import { prepareRequest, type PreparedRequest } from './prepare-request.ts'
import { scrubHeaders } from './prepare-response.ts'
import { pump, type Filter } from './pump.ts'
import { refusalOf, refuse, upstreamFailed } from './refusal.ts'
import { recordRefusal, recordRequest } from './request-record.ts'
import type { RunningRequest } from './running-requests.ts'
import type { Switched } from './upstream-http1.ts'
import { closeFrame, WebSocketFrames } from './websocket-frames.ts'

const POLICY_VIOLATION = 1008
const LINGER_MS = 2000

/** A request to speak WebSocket. When the server agrees, frames go through until one side ends. */
export async function upgradeExchange(context: ExchangeContext, upgrade: Upgrade): Promise<void> {
  const { connection } = context
  const { inbound, socket } = upgrade
  let running: RunningRequest | null = null
  let prepared: PreparedRequest | null = null
  let request: UpstreamRequest | null = null
  try {
    const allowed = check(context, inbound)
    running = allowed.running
    prepared = await prepareRequest(connection, inbound, allowed.checked, allowed.named, context.limits)
    if (inbound.hasBody) throw refuse('malformed', 'a request for a WebSocket has no body')
    const outgoing = outgoingOf(prepared)
    // Compressed messages could not be searched for secrets.
    const plain = connection.secrets.empty ? outgoing.headers : without(outgoing.headers, 'sec-websocket-extensions')
    const headers: Headers = [...plain, ['Upgrade', 'websocket']]
    running.throwIfRefused()
    const sent = await context.upstream.request({ ...outgoing, headers }, () => undefined)
    request = sent
    socket.once('close', () => sent.abort())
    running.stopWith(() => sent.abort())
    sent.end([])
    const response = await sent.response
    running.throwIfRefused()
    if (isSwitched(response)) checkSwitched(connection, response)
    recordRequest(connection, inbound, prepared, response.status)
    if (isSwitched(response)) await join(connection, upgrade, response, running)
    else await relay(context, inbound, sent, response)
  } catch (error) {
    request?.abort()
    fail(context, inbound, prepared, running?.refusal ?? error)
  } finally {
    running?.[Symbol.dispose]()
  }
}

function isSwitched(response: UpstreamResponse): response is Switched {
  return 'socket' in response
}

function checkSwitched({ secrets }: InspectedConnection, { headers }: Switched): void {
  if (valuesOf(headers, 'upgrade')[0]?.toLowerCase() !== 'websocket') {
    throw upstreamFailed('the server changed to another protocol than WebSocket')
  }
  if (!secrets.empty && valuesOf(headers, 'sec-websocket-extensions').length > 0) {
    throw upstreamFailed('the server wants an extension of WebSocket that it was not offered')
  }
}

async function join(
  connection: InspectedConnection,
  { socket, head, inbound }: Upgrade,
  response: Switched,
  running: RunningRequest,
): Promise<void> {
  const lines = scrubHeaders(response.headers, connection).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join('')}\r\n`, 'latin1')
  const server = response.socket
  socket.once('close', () => server.destroy())
  running.stopWith((refusal) => {
    endRefused(connection, inbound, socket, refusal)
    server.destroy()
  })
  if (head.length > 0) socket.unshift(head)
  if (response.rest.length > 0) server.unshift(response.rest)
  const filters = filtersFor(connection)
  const { time } = connection.secrets
  await Promise.all([
    passOn(socket, server, filters.toServer, time).catch((error: unknown) =>
      endRefused(connection, inbound, socket, error),
    ),
    passOn(server, socket, filters.toClient, time).catch(() => endSoon(socket)),
  ])
  endSoon(socket)
}

async function passOn(from: Duplex, to: Duplex, filter: Filter | null, time: SearchTime): Promise<void> {
  if ((await pump(from, to, filter, time)) === 'ended') to.end()
}

/** Messages to the server are searched for placeholders, those to the client for secrets. */
function filtersFor({ secrets }: InspectedConnection): { toServer: Filter | null; toClient: Filter | null } {
  if (secrets.empty) return { toServer: null, toClient: null }
  const { watch, scrubber } = secrets
  const where = 'a message of a WebSocket'
  return {
    toServer: new WebSocketFrames(true, {
      message: () => watch.stream(where),
      control: (payload) => {
        watch.check(payload, where)
        return payload
      },
    }),
    toClient: new WebSocketFrames(false, {
      message: () => scrubber.stream(),
      control: (payload) => scrubber.bytes(payload),
    }),
  }
}

function endRefused(connection: InspectedConnection, inbound: Inbound, socket: Duplex, error: unknown): void {
  if (HearthError.isInstance(error) && refusalOf(error) !== null) {
    recordRefusal(connection, error, inbound)
    if (!socket.writableEnded) socket.end(closeFrame(POLICY_VIOLATION, error.message))
  }
  endSoon(socket)
}

/** What was written is still sent, if the client takes it soon. */
function endSoon(socket: Duplex): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS)
  finished(socket, { readable: false }, () => {
    clearTimeout(timer)
    socket.destroy()
  })
  if (!socket.writableEnded) socket.end()
}
