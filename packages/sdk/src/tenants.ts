import type { KeyView, Quotas, QuotasView, Scope, TenantView } from '@hearth/contract'
import { checkedId } from './checks.ts'
import { apiKey, type ApiKey, type NewApiKey } from './keys.ts'
import { allPages } from './transport/calls.ts'
import type { CallOptions, HttpClient } from './transport/http-client.ts'
import type { Dated } from './workspaces/dates.ts'

/** Somebody who uses the server, with quotas, keys and sandboxes of their own. */
export type Tenant = Dated<TenantView, 'createdAt'>

/** The tenants of a server, each by its identifier. For keys with the scope `operator`. */
export class Tenants {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /**
   * Makes a tenant. Quotas that are not given have their defaults.
   *
   * @example
   * const { id } = await hearth.tenants.create({ name: 'research', quotas: { sandboxes: 20 } })
   * const { key } = await hearth.tenants.createKey(id, { name: 'first' })
   */
  async create(
    request: { readonly name: string; readonly quotas?: Partial<Quotas> },
    options: CallOptions = {},
  ): Promise<Tenant> {
    const { signal } = options
    return tenantOf(await this.#http.json<TenantView>({ method: 'POST', path: '/tenants', json: request, signal }))
  }

  /** All tenants, oldest first. */
  async list(options: CallOptions = {}): Promise<Tenant[]> {
    return (await allPages<TenantView>(this.#http, '/tenants', options)).map(tenantOf)
  }

  /** What a tenant may hold at once, and what it holds now. */
  async quotas(id: string, options: CallOptions = {}): Promise<QuotasView> {
    return await this.#http.json({ method: 'GET', path: `${pathOf(id)}/quotas`, signal: options.signal })
  }

  /** Changes the quotas that are named. What a tenant has already stays, also when it is more. */
  async setQuotas(id: string, quotas: Partial<Quotas>, options: CallOptions = {}): Promise<Tenant> {
    const call = { method: 'PATCH', path: `${pathOf(id)}/quotas`, json: quotas, signal: options.signal } as const
    return tenantOf(await this.#http.json<TenantView>(call))
  }

  /** Removes a tenant with its keys, secrets, runs and events. Refused with `conflict` while it has sandboxes, snapshots, volumes, workspaces or repositories. */
  async remove(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: pathOf(id), signal: options.signal })
  }

  /** Makes a key of a tenant; its scope is `admin` unless named. */
  async createKey(
    id: string,
    request: { readonly name: string; readonly scopes?: readonly Scope[]; readonly expiresInMs?: number },
    options: CallOptions = {},
  ): Promise<NewApiKey> {
    const call = { method: 'POST', path: `${pathOf(id)}/keys`, json: request, signal: options.signal } as const
    const view = await this.#http.json<KeyView & { key: string }>(call)
    return { ...apiKey(view), key: view.key }
  }

  /** The keys of a tenant, newest first; never the keys themselves. */
  async keys(id: string, options: CallOptions = {}): Promise<ApiKey[]> {
    return (await allPages<KeyView>(this.#http, `${pathOf(id)}/keys`, options)).map(apiKey)
  }

  /** Refuses a key of a tenant from now on, with all that were made under it; their sandboxes end. */
  async revokeKey(id: string, key: string, options: CallOptions = {}): Promise<void> {
    const path = `${pathOf(id)}/keys/${checkedId(key, 'key')}`
    await this.#http.done({ method: 'DELETE', path, signal: options.signal })
  }
}

function pathOf(id: string): string {
  return `/tenants/${checkedId(id, 'tenant')}`
}

function tenantOf({ id, name, quotas, createdAt }: TenantView): Tenant {
  return { id, name, quotas, createdAt: new Date(createdAt) }
}
