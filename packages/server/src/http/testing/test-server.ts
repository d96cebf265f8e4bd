// For tests: a listening server on loopback over the real control plane, with a home of its own.
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CreateSandbox, SandboxView, Scope } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import pino from 'pino'
import { LocalControlPlane, type LocalControlPlaneOptions } from '../../lifecycle/local-control-plane.ts'
import { shareProbes } from '../../lifecycle/shared-probes.ts'
import { engineOptions } from '../../record/engine-options.ts'
import { Records } from '../../record/records.ts'
import { runService } from '../../runs/run-service.ts'
import { deriveKeys, openStore, serverKey, type Store } from '../../state/index.ts'
import { ensureOperatorKey } from '../access/first-key.ts'
import { InsideConnections } from '../access/inside.ts'
import type { HttpLimits } from '../limits.ts'
import { createServer, type HttpServer, type HttpServerOptions } from '../server.ts'

export interface CallOptions extends Omit<RequestInit, 'body'> {
  readonly json?: unknown
  readonly body?: RequestInit['body']
  /** Null for none. Default: the first key. */
  readonly key?: string | null
}

interface Parts {
  readonly home: string
  readonly store: Store
  readonly plane: LocalControlPlane
  readonly key: string
  readonly problems: string[]
  readonly inside: InsideConnections
}

type MoreOptions = Pick<HttpServerOptions, 'previewDomain' | 'publicUrl'> & Pick<LocalControlPlaneOptions, 'admission'>

export class TestServer implements AsyncDisposable {
  readonly store: Store
  readonly plane: LocalControlPlane
  readonly server: HttpServer
  readonly key: string
  /** Lines of the log, parsed. */
  readonly lines: Record<string, unknown>[] = []
  /** What failed in the control plane while nobody waited for it. */
  readonly problems: readonly string[]
  /** Where it has its state. */
  readonly home: string

  private constructor(parts: Parts, limits: Partial<HttpLimits>, more: MoreOptions) {
    this.store = parts.store
    this.plane = parts.plane
    this.key = parts.key
    this.problems = parts.problems
    this.home = parts.home
    const write = (line: string): void => void this.lines.push(JSON.parse(line) as Record<string, unknown>)
    this.server = createServer({
      controlPlane: parts.plane,
      keys: parts.store.apiKeys,
      events: parts.store.events,
      tenants: parts.store.tenants,
      secrets: parts.store.secrets,
      runs: runService(parts.store),
      ready: () => parts.store.ping(),
      linkSecret: randomBytes(32),
      inside: parts.inside,
      logger: pino({ level: 'debug' }, { write }),
      limits,
      ...more,
    })
  }

  static async start(limits: Partial<HttpLimits> = {}, more: MoreOptions = {}): Promise<TestServer> {
    const home = await mkdtemp(join(tmpdir(), 'hearth-http-'))
    await shareProbes(home)
    const keys = deriveKeys(await serverKey(join(home, 'secret-key'), ''))
    const store = await openStore({ url: `sqlite:${join(home, 'hearth.db')}`, keys })
    const problems: string[] = []
    const onProblem = (what: string, error: unknown): void => void problems.push(`${what}: ${String(error)}`)
    const records = new Records(store, { onProblem })
    const inside = new InsideConnections()
    const hearth = new Hearth({ home, spareKeepers: 0, ...engineOptions(store, records, inside) })
    const { admission = {}, ...addresses } = more
    const plane = await LocalControlPlane.open({ store, hearth, records, onProblem, admission })
    const first = await ensureOperatorKey(store)
    if (first === null) throw new Error('a new store has a key')
    const server = new TestServer({ home, store, plane, key: first.token, problems, inside }, limits, addresses)
    await server.server.start()
    return server
  }

  get url(): string {
    return this.server.url
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Response> {
    const { json, key = this.key, headers, body, ...rest } = options
    const sent = new Headers(headers)
    if (key !== null) sent.set('authorization', `Bearer ${key}`)
    if (json !== undefined) sent.set('content-type', 'application/json')
    const content = json === undefined ? body : JSON.stringify(json)
    const init = { ...rest, method, headers: sent, redirect: 'manual', duplex: 'half' } as RequestInit
    return await fetch(
      `${this.url}${path}`,
      content === undefined || content === null ? init : { ...init, body: content },
    )
  }

  /** The JSON of an answer that must have this status. */
  async json<T>(method: string, path: string, options: CallOptions & { readonly status?: number } = {}): Promise<T> {
    const { status = 200, ...rest } = options
    const answer = await this.call(method, path, rest)
    const text = await answer.text()
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return (text === '' ? null : JSON.parse(text)) as T
  }

  /** The status and the code of an answer that must be an error body. */
  async refusal(
    method: string,
    path: string,
    options: CallOptions = {},
  ): Promise<{ status: number; code: string; message: string }> {
    const answer = await this.call(method, path, options)
    const body = (await answer.json()) as { error: { code: string; message: string; requestId: string } }
    if (body.error.requestId !== answer.headers.get('x-request-id'))
      throw new Error('the request id is not the same in body and header')
    return { status: answer.status, code: body.error.code, message: body.error.message }
  }

  async sandbox(request: CreateSandbox = {}, key: string = this.key): Promise<SandboxView> {
    return await this.json('POST', '/v1/sandboxes', { json: { rung: 'process', ...request }, status: 201, key })
  }

  async newKey(scopes: readonly Scope[], tenant = 'default'): Promise<string> {
    const { tenants, apiKeys } = this.store
    const { id } = (await tenants.findByName(tenant)) ?? (await tenants.create({ name: tenant }))
    return (await apiKeys.create({ tenantId: id, name: 'test', scopes })).token
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop({ graceMs: 1000 })
    await this.plane.close()
    const hearth = new Hearth({ home: this.home, spareKeepers: 0 })
    for (const { id } of await hearth.survey()) await hearth.discard(id)
    await hearth.dispose()
    await rm(this.home, { recursive: true, force: true })
  }
}
