import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener, RequestError } from '@hono/node-server'
import { HearthError, newId } from '@hearth/contract'
import type { Logger } from 'pino'
import type { ControlPlane } from '../control-plane.ts'
import { Authenticator } from './access/authenticator.ts'
import type { EventStore, KeyStore, Services, TenantStore } from './app-env.ts'
import { createApp } from './app.ts'
import { holdBody } from './bodies/expect-continue.ts'
import { asHearthError, failureHeaders, failureOf, refuseSocket, statusOf } from './failures.ts'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.ts'
import { Metrics } from './metrics.ts'
import { serverStops, type Operation } from './operation.ts'
import { Operations } from './operations.ts'
import { parseHost } from './previews/preview-host.ts'
import { handlePreview } from './previews/previews.ts'
import { SignedLinks } from './previews/signed-links.ts'
import { fetchOf, hasTwoHosts, parserFailure, refuseRequest } from './requests.ts'
import { ProcessHandles } from './streams/process-handles.ts'
import { Upgrades } from './upgrades.ts'

export interface HttpServerOptions {
  readonly controlPlane: ControlPlane
  readonly keys: KeyStore
  readonly events: EventStore
  readonly tenants: TenantStore
  readonly logger: Logger
  readonly limits?: Partial<HttpLimits>
  /** Default 127.0.0.1 and a free port. Elsewhere than on loopback only when there is a key. */
  readonly listen?: { readonly host?: string; readonly port?: number }
  /** Rejects while the server cannot do its work. */
  readonly ready?: () => Promise<void>
  /** Signs links to previews, 32 bytes or more. Links die with it. */
  readonly linkSecret: Uint8Array
  /** Domain of host names of previews; the default `localhost` needs no name server. */
  readonly previewDomain?: string
}

export interface HttpServer {
  /** For example `http://127.0.0.1:7070`. Only after `start`. */
  readonly url: string
  readonly address: AddressInfo
  start(): Promise<void>
  /** Streams end at once, calls have `graceMs` to end, then every connection is closed. Idempotent. */
  stop(options?: { readonly graceMs?: number }): Promise<void>
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])
const DEFAULT_GRACE_MS = 10_000

/** The HTTP API over a control plane. */
export function createServer(options: HttpServerOptions): HttpServer {
  return new ListeningServer(options)
}

class ListeningServer implements HttpServer {
  readonly #options: HttpServerOptions
  readonly #services: Services
  readonly #operations: Operations
  readonly #server: Server
  #stopping: Promise<void> | null = null
  #beginning: Operation | null = null

  constructor(options: HttpServerOptions) {
    this.#options = options
    const limits: HttpLimits = { ...DEFAULT_HTTP_LIMITS, ...options.limits }
    const metrics = new Metrics()
    this.#operations = new Operations({ logger: options.logger, metrics })
    this.#services = {
      ...options,
      limits,
      metrics,
      access: new Authenticator(options.keys, limits),
      links: new SignedLinks(options.linkSecret),
      processes: new ProcessHandles(),
      ready: () => this.#ready(),
      preview: { domain: options.previewDomain ?? 'localhost', port: () => this.address.port },
    }
    this.#server = this.#create(limits)
  }

  get address(): AddressInfo {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') throw new HearthError('internal', 'the server does not listen')
    return address
  }

  get url(): string {
    const { address, family, port } = this.address
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port = 0 } = this.#options.listen ?? {}
    if (!LOOPBACK.has(host) && !(await this.#options.keys.any())) {
      throw new HearthError('invalid_request', `listening on ${host} needs a key, and there is none`, {
        suggestion: 'Start on loopback once, which makes a key, or make one with `hearth key create`.',
      })
    }
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject)
        resolve()
      })
    })
    this.#options.logger.info({ event: 'server.listening', url: this.url })
  }

  async stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#stop(options.graceMs ?? DEFAULT_GRACE_MS)
    await this.#stopping
  }

  async #stop(graceMs: number): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
    await this.#operations.drain(graceMs, serverStops)
    await this.#services.processes.dispose()
    this.#server.closeAllConnections()
    await closed
    this.#options.logger.info({ event: 'server.stopped' })
  }

  async #ready(): Promise<void> {
    if (this.#stopping !== null) throw serverStops()
    await this.#options.ready?.()
  }

  #create(limits: HttpLimits): Server {
    const server = createHttpServer({
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersMs,
      // Bodies have their own bounds: a large file may take long.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(5000, Math.max(100, limits.headersMs / 2)),
      insecureHTTPParser: false,
      shouldUpgradeCallback: (incoming) => incoming.headers.upgrade?.toLowerCase() === 'websocket',
    })
    server.maxConnections = limits.connections
    const app = createApp(this.#services, this.#operations)
    const listener = getRequestListener(fetchOf(app), { errorHandler: (error) => this.#unreadable(error) })
    server.on('request', (incoming, outgoing) => this.#request(incoming, outgoing, listener))
    server.on('checkContinue', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      holdBody(incoming, outgoing)
      this.#request(incoming, outgoing, listener)
    })
    const upgrades = new Upgrades(this.#services, this.#operations)
    server.on('upgrade', (incoming, socket, head) => void upgrades.handle(incoming, socket, head))
    server.on('clientError', (error: NodeJS.ErrnoException, socket) =>
      refuseSocket(socket, parserFailure(error), newId('req')),
    )
    return server
  }

  #request(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    listener: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
  ): void {
    const operation = this.#operations.begin(incoming, outgoing)
    if (this.#stopping !== null) outgoing.setHeader('connection', 'close')
    if (hasTwoHosts(incoming))
      return refuseRequest(outgoing, operation, new HearthError('invalid_request', 'there are two hosts'))
    const host = parseHost(incoming.headers.host, this.#services.preview.domain)
    this.#beginning = operation
    if (host.kind === 'api') void listener(incoming, outgoing)
    else void handlePreview(this.#services, incoming, outgoing, operation, host.kind === 'preview' ? host.target : null)
  }

  /** A request that is HTTP but has no URL that means anything. The adapter finds out before it has done anything else. */
  #unreadable(error: unknown): Response {
    const unclear = new HearthError('invalid_request', 'the host or the path of the request is malformed', {
      cause: error,
    })
    const failure = error instanceof RequestError ? unclear : asHearthError(error)
    this.#beginning?.failed(failure)
    const body = JSON.stringify({ error: failureOf(failure, this.#beginning?.requestId ?? '') })
    return new Response(body, { status: statusOf(failure), headers: failureHeaders(failure) })
  }
}
