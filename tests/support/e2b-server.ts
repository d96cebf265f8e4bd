import { mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError, type Policy, type Rung, type Scope } from '@hearth/contract'
import { Hearth as Engine } from '@hearth/engine'
import { Hearth } from '@hearth/sdk'
import { serve, type HttpLimits, type Server, type ServeOptions } from '@hearth/server'
import { shareProbes } from '../../packages/server/src/lifecycle/shared-probes.ts'

type WebhookOptions = NonNullable<NonNullable<NonNullable<ServeOptions['dialects']>['e2b']>['webhooks']>

export interface E2bServerOptions {
  readonly limits?: Partial<HttpLimits>
  readonly webhooks?: WebhookOptions
  /** What sandboxes and builds may reach that name nothing. All names lead to loopback. */
  readonly policy?: Policy
  /** Below which sandboxes have host names. */
  readonly domain?: string
}

export interface Reply {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Record<string, string>
  /** Pieces are sent one after the other; the request ends after the last, unless `open`. */
  readonly body?: readonly (string | Buffer)[]
  readonly open?: boolean
  /** Which dialect is asked. Default: E2B's. */
  readonly dialect?: 'e2b' | 'pandastack'
}

/** A server that speaks E2B's dialect, and PandaStack's beside it, with a home of its own. Clients of E2B find it by the environment of this process. */
export class E2bServer implements AsyncDisposable {
  readonly url: string
  readonly key: string
  readonly native: Hearth
  readonly #server: Server

  private constructor(server: Server, key: string) {
    this.#server = server
    this.url = server.dialects['e2b'] ?? ''
    this.key = key
    this.native = new Hearth({ url: server.url, apiKey: key })
    this.point()
  }

  /** From here on clients in this process find this server. */
  point(): void {
    Object.assign(process.env, { E2B_API_URL: this.url, E2B_SANDBOX_URL: this.url, E2B_API_KEY: this.key })
  }

  static async start(limits: Partial<HttpLimits> = {}, webhooks: WebhookOptions = {}): Promise<E2bServer> {
    return await E2bServer.with({ limits, webhooks })
  }

  static async with(options: E2bServerOptions): Promise<E2bServer> {
    const home = await mkdtemp(join(tmpdir(), 'hearth-e2b-'))
    await shareProbes(home)
    const server = await serveAt(home, options)
    return new E2bServer(server, server.firstKey?.token ?? '')
  }

  /** Another life of the same server, at another address. This one is over. */
  async restarted(): Promise<E2bServer> {
    await this.#server.stop({ graceMs: 100 })
    return new E2bServer(await serveAt(this.#server.home, {}), this.key)
  }

  /** Of the native API. */
  get nativeUrl(): string {
    return this.#server.url
  }

  get home(): string {
    return this.#server.home
  }

  /** Whether this host has the rung; asked by trying, since looking at all of them takes long. */
  async has(rung: string): Promise<boolean> {
    try {
      await (await this.native.create({ rung: rung as Rung, template: 'host' })).kill()
      return true
    } catch (error) {
      if (HearthError.isInstance(error) && error.code === 'rung_unavailable') return false
      throw error
    }
  }

  /** A key of another tenant, which is made where there is none. */
  async foreignKey(scopes: readonly Scope[] = ['admin']): Promise<string> {
    const tenant = await this.#native<{ id: string }>('/v1/tenants', { name: `tenant-${Date.now()}` })
    const made = await this.#native<{ key: string }>(`/v1/tenants/${tenant.id}/keys`, { name: 'foreign', scopes })
    return made.key
  }

  async makeKey(scopes: readonly Scope[]): Promise<{ readonly key: string; readonly id: string }> {
    return await this.#native('/v1/keys', { name: 'made', scopes })
  }

  async revokeKey(id: string): Promise<void> {
    const headers = { authorization: `Bearer ${this.key}` }
    const answer = await fetch(`${this.#server.url}/v1/keys/${id}`, { method: 'DELETE', headers })
    if (!answer.ok) throw new Error(await answer.text())
  }

  /** A request with exactly these headers, as no client would send it. */
  async raw(request: RawRequest): Promise<Reply> {
    return await rawRequest(Number(new URL(this.dialect(request.dialect ?? 'e2b')).port), request)
  }

  /** The status of a request to another listener of this server. */
  async rawAt(port: number, request: RawRequest): Promise<number> {
    return (await rawRequest(port, request)).status
  }

  /** Where a dialect listens. */
  dialect(name: 'e2b' | 'pandastack'): string {
    return this.#server.dialects[name] ?? ''
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop({ graceMs: 500 })
    const engine = new Engine({ home: this.#server.home, spareKeepers: 0 })
    for (const { id } of await engine.survey()) await engine.discard(id)
    await engine.dispose()
    await rm(this.#server.home, { recursive: true, force: true })
  }

  async #native<T>(path: string, json: unknown): Promise<T> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json' }
    const answer = await fetch(`${this.#server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(json) })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
    return (await answer.json()) as T
  }
}

async function serveAt(
  home: string,
  { limits = {}, webhooks = {}, policy, domain = 'e2b.test' }: E2bServerOptions,
): Promise<Server> {
  const e2b = { port: 0, domain, webhooks }
  return await serve({
    home,
    port: 0,
    prepare: false,
    logLevel: 'silent',
    limits,
    engine: { gateway: { resolve: async () => ['127.0.0.1'] } },
    dialects: { e2b, pandastack: { port: 0 }, ...(policy === undefined ? {} : { policy }) },
  })
}

async function rawRequest(
  port: number,
  { method = 'GET', path, headers = {}, body = [], open = false }: RawRequest,
): Promise<Reply> {
  return await new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.once('end', () => {
        request.destroy()
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: Buffer.concat(pieces) })
      })
      answer.once('error', reject)
    })
    request.once('error', reject)
    for (const piece of body) request.write(piece)
    if (!open) request.end()
    else request.flushHeaders()
  })
}
