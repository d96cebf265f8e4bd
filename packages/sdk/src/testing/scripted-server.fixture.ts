import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Hearth, type HearthOptions } from '../index.ts'

export interface Received {
  readonly method: string
  /** Without `/v1`. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

type SimpleReply = (request: Received, response: ServerResponse) => void
export type Reply = (request: Received, response: ServerResponse) => void | Promise<void>

/** A server on loopback that answers what its test says, and remembers what it was asked. */
export class ScriptedServer implements AsyncDisposable {
  readonly requests: Received[] = []
  readonly #server: Server
  readonly #replies = new Map<string, Reply[]>()

  readonly url: string

  private constructor(server: Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (request, response) => void this.#answer(request, response))
  }

  static async listen(): Promise<ScriptedServer> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ScriptedServer(server)
  }

  get http(): Server {
    return this.#server
  }

  client(options: HearthOptions = {}): Hearth {
    return new Hearth({ url: this.url, apiKey: 'hearth_test', ...options })
  }

  /** Answers to `GET /path`, one after the other; the last one stays. */
  on(call: string, ...replies: Reply[]): this {
    this.#replies.set(call, replies)
    return this
  }

  asked(call: string): Received[] {
    return this.requests.filter((request) => `${request.method} ${request.path}` === call)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(incoming.url ?? '/', this.url)
    const call = `${incoming.method} ${url.pathname.replace(/^\/v1/, '')}`
    const replies = this.#replies.get(call) ?? []
    const reply = replies.length > 1 ? replies.shift() : replies[0]
    const chunks: Buffer[] = []
    try {
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
    } catch {
      // The client broke its request off, as its test wants.
      return
    }
    const request: Received = {
      method: incoming.method ?? '',
      path: url.pathname.replace(/^\/v1/, ''),
      query: url.searchParams,
      headers: incoming.headers,
      body: Buffer.concat(chunks),
    }
    this.requests.push(request)
    if (reply === undefined) return failure(404, 'not_found', `nothing is written for ${call}`)(request, response)
    await reply(request, response)
  }
}

export function json(body: unknown, status = 200, headers: Record<string, string> = {}): SimpleReply {
  return (_, response) =>
    void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

export function failure(status: number, code: string, message: string, more: object = {}): SimpleReply {
  const error = {
    code,
    message,
    suggestion: 'do this',
    retryable: false,
    context: { fact: 1 },
    requestId: 'req_1',
    ...more,
  }
  return (_, response) =>
    void response
      .writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'req_1' })
      .end(JSON.stringify({ error }))
}

/** The connection is closed without a word. */
export const hangUp: Reply = (_, response) => void response.destroy()

/** Waits until its client goes away. */
export const silence: Reply = async (_, response) => {
  await once(response, 'close')
}

/** Events, and then the end of the stream, which is a break unless the last event is a last one. */
export function events(...list: object[]): SimpleReply {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of list) response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.end()
  }
}

/** Events, after which the stream stays open. */
export function openEvents(...list: object[]): SimpleReply {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of list) response.write(`data: ${JSON.stringify(event)}\n\n`)
  }
}

export const ID = 'sb_00000000000000000000'

export function view(more: object = {}): object {
  return {
    id: ID,
    state: 'running',
    rung: 'process',
    driver: 'bubblewrap 0.8',
    template: 'host',
    createdAt: new Date().toISOString(),
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    idleMs: null,
    idleAction: null,
    hibernation: null,
    restored: null,
    parent: null,
    metadata: {},
    limits: { cpus: 1, memoryBytes: 1, pids: 1, diskBytes: 1, openFiles: 1, outputBytes: 1, wallTimeMs: 1 },
    reason: null,
    ...more,
  }
}

export const STARTED = { type: 'started', process: 7, pid: 70 }
export const EXIT = { exitCode: 0, signal: null, timedOut: false, oom: false, durationMs: 1, cpuMs: null }

export function output(offset: number, text: string, stream: 'stdout' | 'stderr' = 'stdout'): object {
  return { type: 'output', stream, offset, dropped: 0, data: Buffer.from(text).toString('base64') }
}
