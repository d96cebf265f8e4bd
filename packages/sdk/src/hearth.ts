import type { CreateSandbox, QuotasView, RecordVerdict, Rung, SandboxState, SandboxView } from '@hearth/contract'
import { checkedId, itemsOf } from './checks.ts'
import {
  eventPage,
  followEvents,
  type EventPage,
  type EventPageQuery,
  type EventQuery,
  type HearthEvent,
} from './events.ts'
import { Keys } from './keys.ts'
import { openConnection, type HearthOptions } from './options.ts'
import { Pool } from './pool.ts'
import { Secrets } from './secrets.ts'
import { Runs } from './runs/runs.ts'
import { CreateProgress } from './sandboxes/create-progress.ts'
import { RemoteSandbox } from './sandboxes/remote-sandbox.ts'
import type { Connection } from './sandboxes/sandbox-client.ts'
import { sandboxDetails, type SandboxDetails } from './sandboxes/sandbox-details.ts'
import { Snapshots } from './snapshots/snapshots.ts'
import { Templates } from './templates.ts'
import { Tenants } from './tenants.ts'
import { unlessGivenUp } from './transport/given-up.ts'
import type { CallOptions } from './transport/http-client.ts'
import type { RungView } from './rung-view.ts'
import { Repositories } from './workspaces/repositories.ts'
import { Volumes } from './workspaces/volumes.ts'
import { Workspaces } from './workspaces/workspaces.ts'

/** How `Hearth.create` makes a sandbox. */
export interface CreateOptions {
  /** The same key with the same spec gives the same sandbox. Default: one of its own for each call. */
  readonly idempotencyKey?: string
  /** Told what the server does while it takes long, such as the lines of a template that is built. Needs a key that may read sandboxes. */
  readonly onProgress?: (line: string) => void
  /** Gives up: what is made nevertheless is removed, unless `idempotencyKey` was given to come back for it. */
  readonly signal?: AbortSignal
}

type KeyedCreate = Pick<CreateOptions, 'onProgress'> & {
  readonly idempotencyKey: string
  readonly signal?: AbortSignal | undefined
}

/** Which sandboxes a list has. */
export interface ListFilters {
  /** Only those in this state. Default: all that have not been removed. */
  readonly state?: SandboxState
  /** Only those on this rung. */
  readonly rung?: Rung
  /** Only those that have all of these. */
  readonly metadata?: Readonly<Record<string, string>>
  /** Sandboxes per request. */
  readonly limit?: number
  /** Gives up. */
  readonly signal?: AbortSignal
}

/** A part of a list of sandboxes, newest first. */
export interface SandboxPage {
  readonly items: SandboxDetails[]
  /** For the next page; null at the end. */
  readonly next: string | null
}

/**
 * A Hearth server: its sandboxes, snapshots, workspaces, runs, keys and events.
 *
 * @example
 * const hearth = new Hearth() // HEARTH_URL and HEARTH_API_KEY, or { url, apiKey }
 * await using sandbox = await hearth.create({ atLeast: 'process', ttlMs: 600_000 })
 * const { stdout } = await sandbox.exec('uname -a')
 */
export class Hearth {
  /** The API keys of the tenant. */
  readonly keys: Keys
  /** Captured sandboxes, which outlive those that they were taken of. */
  readonly snapshots: Snapshots
  /** What the gateway puts into requests of sandboxes; their values are never given back. */
  readonly secrets: Secrets
  /** Machines that wait for sandboxes, for operators. */
  readonly pool: Pool
  /** Repositories of git that the server has cached. */
  readonly repositories: Repositories
  /** Durable checkouts of repositories. */
  readonly workspaces: Workspaces
  /** Durable directories. */
  readonly volumes: Volumes
  /** The roots that sandboxes start from. */
  readonly templates: Templates
  /** Who uses the server, for operators. */
  readonly tenants: Tenants
  /** Runs of agents. */
  readonly runs: Runs
  readonly #connection: Connection

  constructor(options: HearthOptions = {}) {
    this.#connection = openConnection(options)
    this.keys = new Keys(this.#connection.http)
    this.snapshots = new Snapshots(this.#connection.http)
    this.secrets = new Secrets(this.#connection.http)
    this.pool = new Pool(this.#connection.http)
    this.repositories = new Repositories(this.#connection.http)
    this.workspaces = new Workspaces(this.#connection.http)
    this.volumes = new Volumes(this.#connection.http)
    this.templates = new Templates(this.#connection.http)
    this.tenants = new Tenants(this.#connection.http)
    this.runs = new Runs(this.#connection)
  }

  /**
   * Makes a sandbox from a template, or with `from` from a snapshot, ready for use. Repeated safely when the connection breaks: the key makes that one sandbox.
   *
   * @example
   * await using sandbox = await hearth.create({ template: 'debian', atLeast: 'gvisor', ttlMs: 600_000 })
   */
  async create(spec: CreateSandbox = {}, options: CreateOptions = {}): Promise<RemoteSandbox> {
    const { idempotencyKey, signal } = options
    if (idempotencyKey !== undefined) return await this.#create(spec, { ...options, idempotencyKey })
    const { onProgress } = options
    const tell = (line: string): void => {
      if (signal?.aborted !== true) onProgress?.(line)
    }
    const once = { idempotencyKey: crypto.randomUUID(), ...(onProgress === undefined ? {} : { onProgress: tell }) }
    return await unlessGivenUp(
      signal,
      () => this.#create(spec, once),
      (made) => made.kill(),
    )
  }

  async #create(spec: CreateSandbox, { idempotencyKey, onProgress, signal }: KeyedCreate): Promise<RemoteSandbox> {
    const requestId = crypto.randomUUID()
    const following = onProgress === undefined ? null : new CreateProgress(this.#connection, requestId, onProgress)
    const call = { method: 'POST', path: '/sandboxes', json: spec, signal, repeatable: true, timeoutMs: null } as const
    const asked = following === null ? {} : { 'x-request-id': requestId }
    const headers = { 'idempotency-key': idempotencyKey, ...asked }
    const view = await this.#connection.http.json<SandboxView>({ ...call, headers }).finally(() => following?.stop())
    return new RemoteSandbox(view, this.#connection)
  }

  /** The sandbox with this identifier; `sandbox_not_found` when it does not exist or belongs to another tenant. */
  async get(id: string, options: CallOptions = {}): Promise<RemoteSandbox> {
    const path = `/sandboxes/${checkedId(id)}`
    const view = await this.#connection.http.json<SandboxView>({ method: 'GET', path, signal: options.signal })
    return new RemoteSandbox(view, this.#connection)
  }

  /**
   * All sandboxes that fit, newest first, page by page as they are asked for.
   *
   * @example
   * for await (const { id, state } of hearth.list({ metadata: { job: 'nightly' } })) console.log(id, state)
   */
  async *list(filters: ListFilters = {}): AsyncGenerator<SandboxDetails, void> {
    let cursor: string | null = null
    do {
      const page: SandboxPage = await this.page(filters, cursor)
      yield* page.items
      cursor = page.next
    } while (cursor !== null)
  }

  /** One page of the list of sandboxes; `cursor` is the `next` of the one before. */
  async page(filters: ListFilters = {}, cursor: string | null = null): Promise<SandboxPage> {
    const { state, rung, limit, signal } = filters
    const metadata = Object.entries(filters.metadata ?? {}).map(([key, value]) => [`metadata.${key}`, value] as const)
    const query = { state, rung, limit, cursor: cursor ?? undefined, ...Object.fromEntries(metadata) }
    const { http } = this.#connection
    const body = await http.json<{ next?: string | null }>({ method: 'GET', path: '/sandboxes', query, signal })
    return { items: itemsOf<SandboxView>(body).map(sandboxDetails), next: body.next ?? null }
  }

  /** What works on the server's host. */
  async rungs(options: CallOptions = {}): Promise<RungView[]> {
    const { signal } = options
    return itemsOf(await this.#connection.http.json({ method: 'GET', path: '/rungs', signal }))
  }

  /** What the tenant of this key may hold at once, and what it holds now. */
  async quotas(options: CallOptions = {}): Promise<QuotasView> {
    return await this.#connection.http.json({ method: 'GET', path: '/quotas', signal: options.signal })
  }

  /** Events as they happen, from `after` on or from now. Ends with the signal, or when its reader stops. */
  events(query: EventQuery = {}): AsyncGenerator<HearthEvent, void> {
    return followEvents(this.#connection, query)
  }

  /** Whether what the server tells of a sandbox is what it wrote down; also of one that has ended. */
  async verifyRecord(id: string, options: CallOptions = {}): Promise<RecordVerdict> {
    const path = `/sandboxes/${checkedId(id)}/record`
    return await this.#connection.http.json<RecordVerdict>({ method: 'GET', path, signal: options.signal })
  }

  /**
   * Events that have happened: those after a position, or with `last` the newest.
   *
   * @example
   * const { items } = await hearth.eventPage({ sandbox: sandbox.id, last: 20 })
   */
  async eventPage(query: EventPageQuery = {}): Promise<EventPage> {
    return await eventPage(this.#connection.http, query)
  }
}
