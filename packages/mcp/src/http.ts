import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import type { CreateSandbox } from '@hearth/contract'
import { Hearth, type HearthOptions } from '@hearth/sdk'
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from '@modelcontextprotocol/server'
import { OlderCalls } from './older-calls.ts'
import { makeServer } from './server.ts'
import { Session } from './session.ts'

export interface HttpOptions {
  /** Of the Hearth server. */
  readonly url: string
  readonly version: string
  /** What sandboxes are made of, unless a call says otherwise. */
  readonly spec?: CreateSandbox
  readonly hearth?: Omit<HearthOptions, 'url' | 'apiKey'>
  /** How long a client may take to send a request. Default 30 seconds. */
  readonly requestMs?: number
}

const REQUEST_MS = 30_000
const CLIENT_HEADER = 'mcp-session-id'
/** The first that has no sessions, and takes calls back by closing their answers. */
const NEWER_REVISION = '2026-07-28'
/** A file that a tool writes is in one request. */
const REQUEST_BYTES = 4 * 1024 * 1024
/** How many keys are remembered: what tools remember of a sandbox goes with the oldest. */
const SESSIONS = 256

/**
 * Streamable HTTP without sessions of its own: each request brings the key of the Hearth server, and can do what that key can do. Sandboxes are
 * named in each call. For loopback: pages of other origins and other host names are refused.
 */
export function httpServer(options: HttpOptions): Server {
  const listener = getRequestListener(handlerOf(options))
  const requestTimeout = options.requestMs ?? REQUEST_MS
  const bounds = { requestTimeout, headersTimeout: requestTimeout, connectionsCheckingInterval: requestTimeout / 4 }
  return createServer(bounds, (request, response) => void listener(request, response))
}

function handlerOf({ url, version, spec = {}, hearth }: HttpOptions): (request: Request) => Promise<Response> {
  const sessions = new Map<string, Session>()
  const sessionOf = (apiKey: string): Session => {
    const known = sessions.get(apiKey)
    if (known !== undefined) return known
    const session = new Session({ hearth: new Hearth({ ...hearth, url, apiKey }), multi: true, spec })
    sessions.set(apiKey, session)
    const [oldest] = sessions.keys()
    if (sessions.size > SESSIONS && oldest !== undefined) sessions.delete(oldest)
    return session
  }
  const olderCalls = new OlderCalls()
  const handler = createMcpHandler(
    ({ era, requestInfo }) => {
      const key = bearer(requestInfo) ?? ''
      const client = era === 'legacy' ? requestInfo?.headers.get(CLIENT_HEADER) : null
      const older = typeof client === 'string' ? olderCalls.of(`${key} ${client}`) : null
      return makeServer(sessionOf(key), version, older)
    },
    { maxRequestBodySize: REQUEST_BYTES },
  )
  return async (request) => {
    const refused =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins())
    if (refused !== undefined) return refused
    if (bearer(request) === null) {
      const headers = { 'www-authenticate': 'Bearer realm="hearth"' }
      return Response.json(
        { error: 'send a key of the Hearth server: Authorization: Bearer KEY' },
        { status: 401, headers },
      )
    }
    return withClient(request, await handler.fetch(request))
  }
}

/** A client of an older revision is given an identifier: sessions there are, but only to know which calls are its own. */
function withClient({ headers }: Request, response: Response): Response {
  if (headers.has(CLIENT_HEADER) || headers.get('mcp-protocol-version') === NEWER_REVISION || !response.ok)
    return response
  const named = new Headers(response.headers)
  named.set(CLIENT_HEADER, randomUUID())
  return new Response(response.body, { status: response.status, statusText: response.statusText, headers: named })
}

function bearer(request: Request | undefined): string | null {
  return /^Bearer ([\x21-\x7e]{1,256})$/i.exec(request?.headers.get('authorization') ?? '')?.[1] ?? null
}
