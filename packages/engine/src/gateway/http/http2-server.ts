import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { HttpLimits } from './limits.ts'
import { grouped, sendTrailers, widenWindow } from './http2-headers.ts'
import { pairs, valuesOf, without, type Headers, type Inbound, type Reply } from './message.ts'

/** What may wait in a stream that nobody reads. */
const WINDOW_BYTES = 256 * 1024
/** Each stream's memory counts, and this bounds their sum (in megabytes). */
const SESSION_MEMORY = 32

/** Reads requests of HTTP/2 from a TLS connection over a stream. When that ends no request follows, and the session ends with the last answer. */
export function serveHttp2(
  socket: TLSSocket,
  stream: Duplex,
  serve: (inbound: Inbound) => Promise<void>,
  limits: HttpLimits,
): void {
  const session = performServerHandshake(socket, {
    maxSessionMemory: SESSION_MEMORY,
    maxHeaderListPairs: limits.headerCount + 4,
    strictSingleValueFields: false,
    settings: {
      maxConcurrentStreams: limits.streams,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: WINDOW_BYTES,
      enablePush: false,
      enableConnectProtocol: false,
    },
  })
  session.on('error', () => session.destroy())
  // Node itself does not always notice the end of what is below TLS.
  if (stream.readableEnded) session.close()
  else stream.once('end', () => session.close())
  widenWindow(session, WINDOW_BYTES * 8)
  session.on('stream', (stream: ServerHttp2Stream, _headers, flags: number, raw: string[]) => {
    stream.on('error', () => stream.destroy())
    void serve(inboundOf(stream, pairs(raw), (flags & constants.NGHTTP2_FLAG_END_STREAM) === 0))
  })
  endWhenIdle(session, limits)
}

/** A session without any stream ends after a while, however many pings come. */
function endWhenIdle(session: ServerHttp2Session, limits: HttpLimits): void {
  let open = 0
  let timer = setTimeout(() => session.close(), limits.headMs)
  session.on('stream', (stream: ServerHttp2Stream) => {
    open++
    clearTimeout(timer)
    stream.once('close', () => {
      if (--open === 0 && !session.destroyed) timer = setTimeout(() => session.close(), limits.headMs)
    })
  })
  session.once('close', () => clearTimeout(timer))
}

function inboundOf(stream: ServerHttp2Stream, all: Headers, hasBody: boolean): Inbound {
  const headers = all.filter(([name]) => !name.startsWith(':'))
  let trailers: Headers = []
  stream.on('trailers', (_headers, _flags, raw: string[]) => {
    trailers = pairs(raw)
  })
  const expectsContinue = valuesOf(headers, 'expect').some((value) => value.toLowerCase() === '100-continue')
  return {
    version: '2',
    method: valuesOf(all, ':method')[0] ?? '',
    target: valuesOf(all, ':path')[0] ?? '',
    authorities: [...valuesOf(all, ':authority'), ...valuesOf(headers, 'host')],
    headers: joinCookies(headers),
    body: stream,
    hasBody,
    expectsContinue,
    trailers: () => trailers,
    reply: replyOn(stream),
  }
}

/** HTTP/2 may send a cookie in pieces; everybody else wants one header. */
function joinCookies(headers: Headers): Headers {
  const cookies = valuesOf(headers, 'cookie')
  return cookies.length < 2 ? headers : [...without(headers, 'cookie'), ['cookie', cookies.join('; ')]]
}

function replyOn(stream: ServerHttp2Stream): Reply {
  let trailers: Headers = []
  return {
    get begun() {
      return stream.headersSent
    },
    sink: stream,
    proceed: () => {
      if (!stream.closed && !stream.destroyed && !stream.headersSent) stream.additionalHeaders({ ':status': 100 })
    },
    begin: (status, _reason, headers, bodiless = false) => {
      if (stream.closed || stream.destroyed) return
      const head = { ...grouped(headers), ':status': status }
      stream.respond(head, bodiless ? { endStream: true } : { waitForTrailers: true })
      stream.once('wantTrailers', () => sendTrailers(stream, trailers))
    },
    end: (given) => {
      trailers = given
      stream.end()
    },
    abort: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  }
}
