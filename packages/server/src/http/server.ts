import type { AddressInfo } from 'node:net'
import { HearthError } from '@hearth/contract'
import type { Logger } from 'pino'
import type { ControlPlane } from '../control-plane.ts'
import type { Dialect, DialectListening } from '../dialects/dialect.ts'
import type { RunService } from '../runs/run-service.ts'
import { Authenticator } from './access/authenticator.ts'
import { InsideConnections } from './access/inside.ts'
import type { EventStore, KeyStore, SecretStore, Services, TenantStore } from './app-env.ts'
import { DEFAULT_HTTP_LIMITS, type HttpLimits } from './limits.ts'
import { Listener } from './listener.ts'
import { Metrics } from './metrics.ts'
import { NativeSpeaker } from './native-speaker.ts'
import { serverStops } from './operation.ts'
import { Operations } from './operations.ts'
import { publicAddress } from './previews/public-address.ts'
import { SignedLinks } from './previews/signed-links.ts'
import { ProcessHandles } from './streams/process-handles.ts'

export interface HttpServerOptions {
  readonly controlPlane: ControlPlane
  readonly keys: KeyStore
  readonly events: EventStore
  readonly tenants: TenantStore
  readonly secrets: SecretStore
  readonly runs: RunService
  readonly logger: Logger
  /** Sandboxes with a key of their own come through here. */
  readonly inside?: InsideConnections
  readonly limits?: Partial<HttpLimits>
  /** Default 127.0.0.1 and a free port. Elsewhere than on loopback only when there is a key. */
  readonly listen?: { readonly host?: string; readonly port?: number }
  /** Rejects while the server cannot do its work. */
  readonly ready?: () => Promise<void>
  /** Entries that the record is missing, by reason, for the metrics. Default none. */
  readonly dropped?: () => Readonly<Record<string, number>>
  /** Signs links to previews, 32 bytes or more. Links die with it. */
  readonly linkSecret: Uint8Array
  /** Domain of host names of previews; the default `localhost` needs no name server. */
  readonly previewDomain?: string
  /** Where clients reach the API, such as `https://hearth.example.com`, when a proxy stands before it. */
  readonly publicUrl?: string
  /** Other vendors' APIs over the same services, each on a listener of its own. */
  readonly dialects?: readonly DialectListening[]
}

export interface HttpServer {
  /** For example `http://127.0.0.1:7070`. Only after `start`. */
  readonly url: string
  readonly address: AddressInfo
  /** Where each dialect that could listen does, by its name. Only after `start`. */
  readonly dialects: Readonly<Record<string, string>>
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
  readonly #native: Listener
  readonly #speaking: { readonly name: string; readonly dialect: Dialect; readonly listener: Listener }[] = []
  #stopping: Promise<void> | null = null

  constructor(options: HttpServerOptions) {
    this.#options = options
    const limits: HttpLimits = { ...DEFAULT_HTTP_LIMITS, ...options.limits }
    const metrics = new Metrics()
    const { inside = new InsideConnections() } = options
    metrics.observeHost(
      () => options.controlPlane.report(),
      () => options.dropped?.() ?? {},
    )
    this.#operations = new Operations({ logger: options.logger, metrics })
    this.#services = {
      ...options,
      limits,
      metrics,
      inside,
      access: new Authenticator(options.keys, limits, inside),
      links: new SignedLinks(options.linkSecret),
      processes: new ProcessHandles(),
      ready: () => this.#ready(),
      preview: publicAddress(options, () => this.address.port),
    }
    this.#native = new Listener(limits, this.#operations, new NativeSpeaker(this.#services, this.#operations))
    inside.serve((connection) => this.#native.take(connection))
  }

  get address(): AddressInfo {
    return this.#native.address
  }

  get url(): string {
    return this.#native.url
  }

  get dialects(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#speaking.map(({ name, listener }) => [name, listener.url]))
  }

  async start(): Promise<void> {
    const { host = '127.0.0.1', port = 0 } = this.#options.listen ?? {}
    if (!LOOPBACK.has(host) && !(await this.#options.keys.any())) {
      throw new HearthError('invalid_request', `listening on ${host} needs a key, and there is none`, {
        suggestion: 'Start on loopback once, which makes a key, or make one with `hearth key create`.',
      })
    }
    await this.#native.start(host, port)
    try {
      for (const listening of this.#options.dialects ?? []) await this.#speak(listening, host)
    } catch (error) {
      await this.stop({ graceMs: 0 })
      throw error
    }
    this.#options.logger.info({ event: 'server.listening', url: this.url, dialects: this.dialects })
  }

  async stop(options: { readonly graceMs?: number } = {}): Promise<void> {
    this.#stopping ??= this.#stop(options.graceMs ?? DEFAULT_GRACE_MS)
    await this.#stopping
  }

  async #speak({ name, port, optional, open }: DialectListening, host: string): Promise<void> {
    const dialect = open({ services: this.#services, operations: this.#operations, address: () => listener.address })
    const listener = new Listener(this.#services.limits, this.#operations, dialect)
    try {
      await listener.start(host, port)
    } catch (error) {
      await dialect.close()
      if (!optional) throw error
      // Nobody asked for it: the server is of use without it, and its log says so.
      this.#options.logger.warn({ event: 'dialect.not_listening', dialect: name, port, err: error })
      return
    }
    this.#speaking.push({ name, dialect, listener })
  }

  async #stop(graceMs: number): Promise<void> {
    const ends = [this.#native, ...this.#speaking.map(({ listener }) => listener)].map((listener) => listener.close())
    await this.#operations.drain(graceMs, serverStops)
    for (const { dialect } of this.#speaking) await dialect.close()
    await this.#services.processes.dispose()
    await Promise.all(ends.map((end) => end()))
    this.#options.logger.info({ event: 'server.stopped' })
  }

  async #ready(): Promise<void> {
    if (this.#stopping !== null) throw serverStops()
    await this.#options.ready?.()
  }
}
