import { createServer, ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { HttpLimits } from './limits.ts'
import { flat, pairs, valuesOf, type Inbound, type Reply } from './message.ts'
import { errorBody, refuse } from './refusal.ts'
import type { HearthError } from '@hearth/contract'

const LINGER_MS = 1000

/** A client that asked to change the protocol: after the answer the bytes are its own. */
export interface Upgrade {
  readonly inbound: Inbound
  readonly socket: Duplex
  /** What came with the request already. */
  readonly head: Buffer
}

export interface Http1Handlers {
  request(inbound: Inbound): Promise<void>
  upgrade(upgrade: Upgrade): Promise<void>
  /** A request that could not even be read. */
  unreadable(error: HearthError): void
}

/** Reads requests from a stream. The stream's end is the end of it. */
export function serveHttp1(socket: Duplex, handlers: Http1Handlers, limits: HttpLimits): void {
  const server = createServer({
    maxHeaderSize: limits.headerBytes,
    requireHostHeader: false,
    keepAliveTimeout: 0,
    headersTimeout: 0,
    requestTimeout: 0,
    insecureHTTPParser: false,
    shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === 'websocket',
  })
  server.maxHeadersCount = 0
  // A client that has sent all it will send still gets its answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  const waiting = new HeadTimer(socket, limits)
  const serve = (request: IncomingMessage, response: ServerResponse, expectsContinue = false): void => {
    if (!waiting.began()) {
      socket.destroy()
      return
    }
    response.once('close', () => waiting.ended())
    void handlers.request(inboundOf(request, response, expectsContinue))
  }
  server.on('request', serve)
  server.on('checkContinue', (request, response) => serve(request, response, true))
  server.on('checkExpectation', serve)
  const takeOver = (request: IncomingMessage, stream: Duplex, head: Buffer): void => {
    // The answers before it must be out: until then the stream is theirs.
    if (waiting.busy) {
      handlers.unreadable(refuse('malformed', 'a request to change the protocol came ahead of the answer to another'))
      return void socket.destroy()
    }
    waiting.began()
    const response = new ServerResponse(request)
    // SAFETY: the parser has let go of the stream, so that the response is the only one to write to it. Its type wants a socket but uses a stream.
    response.assignSocket(stream as Parameters<ServerResponse['assignSocket']>[0])
    response.shouldKeepAlive = false
    stream.on('error', () => stream.destroy())
    void handlers.upgrade({ inbound: inboundOf(request, response, false), socket: stream, head })
  }
  server.on('upgrade', takeOver)
  server.on('connect', takeOver)
  server.on('clientError', (error: NodeJS.ErrnoException, stream: Duplex) => {
    if (error.code === 'ECONNRESET' || !stream.writable) return void stream.destroy()
    if (waiting.busy) return endSoon(stream)
    const unreadable = describe(error)
    handlers.unreadable(unreadable)
    const body = errorBody(unreadable)
    const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request'
    stream.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body.toString()}`,
      () => stream.destroy(),
    )
  })
  server.emit('connection', socket)
}

/** A request that breaks off in its body may have its answer already. */
function endSoon(stream: Duplex): void {
  const timer = setTimeout(() => stream.destroy(), LINGER_MS)
  setImmediate(() => stream.end(() => stream.destroy()))
  stream.once('close', () => clearTimeout(timer))
}

function describe(error: NodeJS.ErrnoException & { reason?: string }): HearthError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return refuse('malformed', 'the head of the request is too long')
  if (error.code === 'HPE_INVALID_METHOD' || error.code === 'HPE_PAUSED_H2_UPGRADE') {
    return refuse('protocol_not_allowed', 'this is not HTTP/1.1')
  }
  return refuse('malformed', `the request cannot be read: ${error.reason ?? error.code ?? 'unknown'}`)
}

/** Ends a connection whose next request does not come, and one that sends too many at once. */
class HeadTimer {
  readonly #socket: Duplex
  readonly #limits: HttpLimits
  #timer: NodeJS.Timeout | null = null
  #running = 0

  constructor(socket: Duplex, limits: HttpLimits) {
    this.#socket = socket
    this.#limits = limits
    this.#start()
    socket.once('close', () => this.#stop())
  }

  get busy(): boolean {
    return this.#running > 0
  }

  began(): boolean {
    this.#stop()
    return ++this.#running <= this.#limits.pipelined
  }

  ended(): void {
    if (--this.#running === 0 && !this.#socket.destroyed) this.#start()
  }

  #start(): void {
    this.#timer = setTimeout(() => this.#socket.destroy(), this.#limits.headMs)
  }

  #stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}

function inboundOf(request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): Inbound {
  const headers = pairs(request.rawHeaders)
  const [length] = valuesOf(headers, 'content-length')
  return {
    version: request.httpVersionMajor === 1 && request.httpVersionMinor === 1 ? '1.1' : '1.0',
    method: request.method ?? '',
    target: request.url ?? '',
    authorities: valuesOf(headers, 'host'),
    headers,
    body: request,
    hasBody: (length !== undefined && length !== '0') || valuesOf(headers, 'transfer-encoding').length > 0,
    expectsContinue,
    trailers: () => pairs(request.rawTrailers),
    reply: replyOn(response),
  }
}

function replyOn(response: ServerResponse): Reply {
  response.sendDate = false
  response.on('error', () => response.destroy())
  return {
    get begun() {
      return response.headersSent
    },
    sink: response,
    proceed: () => {
      if (!response.headersSent && !response.destroyed) response.writeContinue()
    },
    begin: (status, reason, headers) => {
      response.writeHead(status, reason === '' ? undefined : reason, flat(headers))
      // The head goes with the first bytes of the body where there are some by then.
      setImmediate(() => response.flushHeaders())
    },
    end: (trailers) => {
      if (trailers.length > 0) response.addTrailers(trailers.map(([name, value]): [string, string] => [name, value]))
      response.end()
    },
    abort: () => response.destroy(),
  }
}
