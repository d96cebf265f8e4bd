import type { Selectable } from 'kysely'
import { HearthError, type Scope } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import type { ApiKeysTable } from '../database/tables.ts'
import { formatToken, hashSecret, matchesHash, newSecret, parseToken } from './key-token.ts'

/** Use is written down at most this often, so that a busy key does not turn every read into a write. */
export const LAST_USED_INTERVAL_MS = 60_000

export interface ApiKey {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  /** The part of the key that may be shown. */
  readonly prefix: string
  readonly scopes: readonly Scope[]
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** To the minute. */
  readonly lastUsedAt: number | null
}

export interface NewApiKey {
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: number | null
}

export class ApiKeyRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** `token` is the only copy of the secret that there will ever be. */
  async create(input: NewApiKey): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const id = this.#sources.newId('key')
    const secret = newSecret()
    const row = await this.#database.query
      .insertInto('api_keys')
      .values({
        id,
        tenant_id: input.tenantId,
        name: input.name,
        secret_hash: hashSecret(secret),
        prefix: `hearth_${id}`,
        scopes: JSON.stringify([...new Set(input.scopes)]),
        created_at: this.#sources.now(),
        expires_at: input.expiresAt ?? null,
        revoked_at: null,
        last_used_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    return { key: decode(row), token: formatToken({ id, secret }) }
  }

  /**
   * The key that this token stands for, or `unauthorized`. Whoever does not know the secret learns nothing from the message;
   * who does is told that the key has expired or was revoked.
   */
  async verify(token: string): Promise<ApiKey> {
    const parsed = parseToken(token)
    if (parsed === null) throw new HearthError('unauthorized', 'this is not a valid API key')
    const query = this.#database.query.selectFrom('api_keys').selectAll().where('id', '=', parsed.id)
    const row = await query.executeTakeFirst()
    const matches = matchesHash(parsed.secret, row?.secret_hash ?? NO_HASH)
    if (row === undefined || !matches) throw new HearthError('unauthorized', 'this is not a valid API key')
    const now = this.#sources.now()
    const context = { key: row.id }
    if (row.revoked_at !== null) throw new HearthError('unauthorized', 'this API key was revoked', { context })
    if (row.expires_at !== null && row.expires_at <= now) {
      throw new HearthError('unauthorized', 'this API key has expired', { context })
    }
    await this.#markUsed(row, now)
    return decode(row)
  }

  async #markUsed(row: Selectable<ApiKeysTable>, now: number): Promise<void> {
    const due = now - LAST_USED_INTERVAL_MS
    if (row.last_used_at !== null && row.last_used_at > due) return
    await this.#database.query
      .updateTable('api_keys')
      .set({ last_used_at: now })
      .where('id', '=', row.id)
      // Another server may have written it since this row was read.
      .where((where) => where.or([where('last_used_at', 'is', null), where('last_used_at', '<=', due)]))
      .execute()
  }

  /** Those of one tenant, newest first, revoked and expired ones included. */
  async list(tenantId: string): Promise<ApiKey[]> {
    const query = this.#database.query.selectFrom('api_keys').selectAll().where('tenant_id', '=', tenantId)
    const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').execute()
    return rows.map(decode)
  }

  /** True when any key exists: the first start makes one. */
  async any(): Promise<boolean> {
    const row = await this.#database.query.selectFrom('api_keys').select('id').limit(1).executeTakeFirst()
    return row !== undefined
  }

  /** From the next request on the key is refused. Idempotent; `not_found` for the key of another tenant. */
  async revoke(tenantId: string, id: string): Promise<ApiKey> {
    const row = await this.#database.query
      .updateTable('api_keys')
      .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(this.#sources.now())) }))
      .where('id', '=', id)
      .where('tenant_id', '=', tenantId)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw new HearthError('not_found', `there is no key ${id}`, { context: { key: id } })
    return decode(row)
  }
}

/** Compared with when there is no such key, so that its absence does not show in the time. */
const NO_HASH = '0'.repeat(64)

function decode(row: Selectable<ApiKeysTable>): ApiKey {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    prefix: row.prefix,
    scopes: JSON.parse(row.scopes) as Scope[],
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  }
}
