import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionOptions,
  type ServerSessionOptions,
} from 'node:http2'
import type { Duplex } from 'node:stream'
import { HearthError } from '@hearth/contract'
import { grouped, sendTrailers, widenWindow } from './http2-headers.ts'
import type { HttpLimits } from './limits.ts'
import { pairs, valuesOf, type Headers, type Outgoing, type UpstreamRequest, type UpstreamResponse } from './message.ts'
import { upstreamFailed, upstreamLate } from './refusal.ts'
import type { Proceed } from './upstream-http1.ts'

const WINDOW_BYTES = 256 * 1024

export function openSession(socket: Duplex, limits: HttpLimits): ClientHttp2Session {
  const options: ClientSessionOptions & Pick<ServerSessionOptions, 'strictSingleValueFields'> = {
    maxHeaderListPairs: limits.headerCount + 4,
    // Doubled headers pass as they come, as over HTTP/1.1: many servers send some twice.
    strictSingleValueFields: false,
    settings: { enablePush: false, initialWindowSize: WINDOW_BYTES, maxHeaderListSize: limits.headerBytes },
  }
  const session = connect('https://upstream.invalid', { ...options, createConnection: () => socket })
  session.on('error', () => session.destroy())
  widenWindow(session, WINDOW_BYTES * 8)
  return session
}

export function requestHttp2(
  session: ClientHttp2Session,
  outgoing: Outgoing,
  proceed: Proceed,
  limits: HttpLimits,
): UpstreamRequest {
  const { method, target, host, headers, hasBody } = outgoing
  const stream = session.request(
    { ...grouped(headers), ':method': method, ':path': target, ':authority': host, ':scheme': 'https' },
    { endStream: !hasBody, waitForTrailers: hasBody },
  )
  const { promise, resolve, reject } = Promise.withResolvers<UpstreamResponse>()
  promise.catch(() => undefined)
  stream.once('continue', proceed)
  stream.once('response', (_headers, flags, raw) => {
    resolve(responseOf(stream, pairs(raw), (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0))
  })
  stream.on('error', (error) => reject(asFailure(error)))
  stream.once('close', () => reject(upstreamFailed('the server closed the stream')))
  stream.setTimeout(limits.idleMs, () => stream.destroy(upstreamLate('the server did not answer in time')))
  let trailers: Headers = []
  stream.once('wantTrailers', () => sendTrailers(stream, trailers))
  return {
    sink: stream,
    response: promise,
    reused: () => false,
    end: (given) => {
      trailers = given
      stream.end()
    },
    // Not a mere cancellation, which some servers take for the end of the body.
    abort: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  }
}

function responseOf(stream: ClientHttp2Stream, all: Headers, bodiless: boolean): UpstreamResponse {
  let trailers: Headers = []
  stream.on('trailers', (_headers, _flags, raw: string[]) => {
    trailers = pairs(raw)
  })
  return {
    status: Number(valuesOf(all, ':status')[0] ?? 502),
    reason: '',
    headers: all.filter(([name]) => !name.startsWith(':')),
    body: stream,
    bodiless,
    trailers: () => trailers,
  }
}

function asFailure(error: Error): HearthError {
  return HearthError.isInstance(error) ? error : upstreamFailed(`the stream broke: ${error.message}`, error)
}
