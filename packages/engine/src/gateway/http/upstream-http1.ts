import { request as startRequest, type Agent, type ClientRequest, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { HearthError } from '@hearth/contract'
import type { HttpLimits } from './limits.ts'
import {
  flat,
  pairs,
  valuesOf,
  without,
  type Header,
  type Outgoing,
  type UpstreamRequest,
  type UpstreamResponse,
} from './message.ts'
import { upstreamFailed, upstreamLate } from './refusal.ts'

export type Proceed = () => void

/** The server has changed the protocol: the bytes from here on are not HTTP. */
export interface Switched extends UpstreamResponse {
  readonly socket: Duplex
  readonly rest: Buffer
}

export function requestHttp1(agent: Agent, outgoing: Outgoing, proceed: Proceed, limits: HttpLimits): UpstreamRequest {
  const request = start(agent, outgoing, limits)
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>()
  promise.catch(() => undefined)
  request.once('response', (response) => resolve(responseOf(response)))
  request.once('continue', proceed)
  let taken: Duplex | null = null
  request.once('upgrade', (response: IncomingMessage, socket: Duplex, rest: Buffer) => {
    taken = socket
    socket.on('error', () => socket.destroy())
    const switched: Switched = { ...responseOf(response), socket, rest }
    resolve(switched)
  })
  request.on('error', (error) => reject(asFailure(error, request)))
  request.once('close', () => reject(upstreamFailed('the server closed the connection')))
  return {
    sink: request,
    response: promise,
    reused: () => request.reusedSocket,
    end: (trailers) => {
      if (trailers.length > 0) request.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
      request.end()
    },
    abort: () => {
      request.destroy()
      // A request lets go of the connection whose protocol was changed.
      taken?.destroy()
    },
  }
}

function start(agent: Agent, outgoing: Outgoing, limits: HttpLimits): ClientRequest {
  const { method, target, host, headers, hasBody } = outgoing
  const upgrading = valuesOf(headers, 'upgrade').length > 0
  const request = startRequest({
    agent,
    method,
    path: target,
    host,
    setHost: false,
    maxHeaderSize: limits.headerBytes,
    insecureHTTPParser: false,
    headers: flat([
      ['Host', host],
      // It concerns neighbours of HTTP/2, and is said there alone.
      ...without(headers, 'te'),
      ...framing(outgoing),
      ['Connection', upgrading ? 'Upgrade' : 'keep-alive'],
    ]),
  })
  request.setNoDelay(true)
  request.setTimeout(limits.idleMs, () => request.destroy(upstreamLate('the server did not answer in time')))
  if (hasBody) request.flushHeaders()
  return request
}

function framing({ method, headers, hasBody }: Outgoing): Header[] {
  if (valuesOf(headers, 'content-length').length > 0) return []
  if (hasBody) return [['Transfer-Encoding', 'chunked']]
  return method === 'POST' || method === 'PUT' || method === 'PATCH' ? [['Content-Length', '0']] : []
}

function responseOf(response: IncomingMessage): UpstreamResponse {
  return {
    status: response.statusCode ?? 502,
    reason: response.statusMessage ?? '',
    headers: pairs(response.rawHeaders),
    body: response,
    bodiless: false,
    trailers: () => pairs(response.rawTrailers),
  }
}

function asFailure(error: NodeJS.ErrnoException, request: ClientRequest): HearthError {
  if (HearthError.isInstance(error)) return error
  const what = error.code?.startsWith('HPE_') === true ? 'the server does not speak HTTP' : 'the connection broke'
  return upstreamFailed(`${what}: ${error.message}`, request.reusedSocket ? error : undefined)
}
