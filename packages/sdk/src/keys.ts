import type { Grant, GrantRequest, KeyView, Scope } from '@hearth/contract'
import { checkedId } from './checks.ts'
import { allPages } from './transport/calls.ts'
import type { CallOptions, HttpClient } from './transport/http-client.ts'

export interface ApiKey {
  readonly id: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly createdAt: Date
  /** Null for a key that does not expire. */
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  readonly lastUsedAt: Date | null
  /** Of a key that was delegated: the key that made it, with which it ends. */
  readonly maker: string | null
  /** The only sandbox that it works from. */
  readonly sandbox: string | null
  /** What it may do at the most; null for a key that was not delegated. */
  readonly grant: Grant | null
}

/** A key as it is made: the only time that it is seen. */
export interface NewApiKey extends ApiKey {
  readonly key: string
}

/** The API keys of the caller's tenant. */
export class Keys {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  /** Scopes are those of the calling key unless named, and never more. */
  async create(
    request: {
      readonly name: string
      readonly scopes?: readonly Scope[]
      readonly expiresInMs?: number
      /** Makes it a part of the calling key: it may do only this, sees only what was made under it, and ends with the calling key. */
      readonly grant?: GrantRequest
    },
    options: CallOptions = {},
  ): Promise<NewApiKey> {
    const { signal } = options
    const view = await this.#http.json<KeyView & { key: string }>({
      method: 'POST',
      path: '/keys',
      json: request,
      signal,
    })
    return { ...apiKey(view), key: view.key }
  }

  /** All, newest first, with those that were revoked or expired in the last 30 days. */
  async list(options: CallOptions = {}): Promise<ApiKey[]> {
    return (await allPages<KeyView>(this.#http, '/keys', options)).map(apiKey)
  }

  /** From now on the key is refused, with all that were made under it; their sandboxes end. */
  async revoke(id: string, options: CallOptions = {}): Promise<void> {
    await this.#http.done({ method: 'DELETE', path: `/keys/${checkedId(id)}`, signal: options.signal })
  }
}

/** What the server tells of a key. */
export function apiKey(view: KeyView): ApiKey {
  const { id, name, scopes } = view
  return {
    id,
    name,
    scopes,
    createdAt: new Date(view.createdAt),
    expiresAt: dateOrNull(view.expiresAt),
    revokedAt: dateOrNull(view.revokedAt),
    lastUsedAt: dateOrNull(view.lastUsedAt),
    maker: view.maker,
    sandbox: view.sandbox,
    grant: view.grant,
  }
}

function dateOrNull(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
