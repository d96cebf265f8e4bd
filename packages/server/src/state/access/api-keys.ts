import type { Selectable } from 'kysely'
import { BOUNDS, HearthError, type Grant, type SandboxId, type Scope } from '@hearth/contract'
import { atomically, inBatches, type Database, type Sources } from '../database/database.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import type { ApiKeysTable } from '../database/tables.ts'
import { ALIVE_STATES } from '../lifecycle.ts'
import { isBelowPath, keysOf, pathOf } from './key-path.ts'
import { requireOtherOperator, workingKeys } from './operator-keys.ts'
import { TenantRepository } from './tenants.ts'
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
  /** What it may do at the most; null for a key that was not delegated. */
  readonly grant: Grant | null
  /** The keys from the first maker to this one, each followed by `/`. */
  readonly path: string | null
  /** The only sandbox that it works from, and ends with. */
  readonly sandboxId: SandboxId | null
}

export interface NewApiKey {
  readonly tenantId: string
  readonly name: string
  readonly scopes: readonly Scope[]
  readonly expiresAt?: number | null
}

/** A key that is a part of another one. */
export interface DelegatedKey extends Omit<NewApiKey, 'tenantId'> {
  readonly grant: Grant
  readonly sandboxId?: SandboxId
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
    return await this.#insert(this.#database, input, { granted: null, path: null, sandbox_id: null })
  }

  /**
   * A key that ends with its maker at the latest: `unauthorized` when that does not work any more. Whether the grant is a part of the maker's
   * is the caller's to check.
   */
  async delegate(maker: ApiKey, input: DelegatedKey): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const { tenantId } = maker
    return await this.#inTurn(tenantId, async (database) => {
      const [found] = await this.#find(database, [maker.id])
      if (found === undefined || !this.#works(found)) throw new HearthError('unauthorized', 'this API key was revoked')
      await this.#requireRoom(database, maker)
      const { grant, sandboxId = null, ...rest } = input
      const row = { granted: JSON.stringify(grant), path: pathOf(maker), sandbox_id: sandboxId }
      return await this.#insert(database, { ...rest, tenantId }, row)
    })
  }

  async #requireRoom(database: Database, maker: ApiKey): Promise<void> {
    const made = await database.query
      .selectFrom('api_keys')
      .selectAll()
      .where('tenant_id', '=', maker.tenantId)
      .where(isBelowPath('path', pathOf(maker)))
      .where('revoked_at', 'is', null)
      .execute()
    const depth = keysOf(pathOf(maker)).length + 1
    const own = made.filter((row) => this.#works(decode(row)) && keysOf(row.path ?? '').length === depth)
    if (maker.grant === null || own.length < BOUNDS.delegatedKeys) return
    throw new HearthError('too_many', `this key has made ${own.length} keys that still work, which is the most`)
  }

  async #insert(
    { query }: Database,
    input: NewApiKey,
    { path, ...delegated }: Pick<Selectable<ApiKeysTable>, 'granted' | 'path' | 'sandbox_id'>,
  ): Promise<{ readonly key: ApiKey; readonly token: string }> {
    const id = this.#sources.newId('key')
    const secret = newSecret()
    const row = await query
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
        ...delegated,
        path: path === null ? null : `${path}${id}/`,
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
    // One that works from a sandbox alone is known by its sandbox: no value stands for it.
    if (row === undefined || !matches || row.sandbox_id !== null)
      throw new HearthError('unauthorized', 'this is not a valid API key')
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

  /** Those of one tenant, newest first, revoked and expired ones included; `below`: this path and what was made below it alone. */
  async list(
    tenantId: string,
    { below, ...page }: PageOptions & { readonly below?: string } = {},
  ): Promise<Page<ApiKey>> {
    const query = this.#database.query.selectFrom('api_keys').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(below === undefined ? query : query.where(isBelowPath('path', below)), page, decode)
  }

  /** Of this tenant alone, whether it works or not. */
  async find(tenantId: string, id: string): Promise<ApiKey | null> {
    const [key] = await this.#find(this.#database, [id])
    return key?.tenantId === tenantId ? key : null
  }

  /** True when a key works that was not delegated: any, or one with this very scope. */
  async any(scope: Scope | null = null): Promise<boolean> {
    const query = workingKeys(this.#database, this.#sources.now(), scope)
    return (await query.select('id').limit(1).executeTakeFirst()) !== undefined
  }

  /** Those of a path that work, the first maker first; `unauthorized` when one of them does not. */
  async holders(path: string): Promise<ApiKey[]> {
    const ids = keysOf(path)
    const found = await this.#find(this.#database, ids)
    const keys = ids.map((id) => found.find((key) => key.id === id))
    return keys.map((key) => {
      if (key === undefined || !this.#works(key)) throw new HearthError('unauthorized', 'this API key was revoked')
      return key
    })
  }

  /** The key that works from a sandbox alone; null when there is none. */
  async ofSandbox(sandboxId: string): Promise<ApiKey | null> {
    const query = this.#database.query.selectFrom('api_keys').selectAll().where('sandbox_id', '=', sandboxId)
    const row = await query.where('revoked_at', 'is', null).executeTakeFirst()
    if (row === undefined || !this.#works(decode(row))) return null
    await this.#markUsed(row, this.#sources.now())
    return decode(row)
  }

  /**
   * From the next request on the key is refused, and all that were made below it. Idempotent. `not_found`: it is another tenant's.
   * `invalid_state`: no key of an operator would be left.
   */
  async revoke(tenantId: string, id: string): Promise<ApiKey> {
    return await this.#inTurn(tenantId, async (database) => {
      const [key] = (await this.#find(database, [id])).filter((found) => found.tenantId === tenantId)
      if (key === undefined) throw new HearthError('not_found', `there is no key ${id}`, { context: { key: id } })
      await requireOtherOperator(database, this.#sources.now(), key)
      const rows = await database.query
        .updateTable('api_keys')
        .set((set) => ({ revoked_at: set.fn.coalesce('revoked_at', set.val(this.#sources.now())) }))
        .where('tenant_id', '=', tenantId)
        .where((where) => where.or([where('id', '=', id), isBelowPath('path', pathOf(key))]))
        .returningAll()
        .execute()
      return rows.map(decode).find((row) => row.id === id) ?? key
    })
  }

  /** Revokes those whose sandbox has ended, with all below them. */
  async revokeBound(): Promise<void> {
    const rows = await this.#database.query
      .selectFrom('api_keys')
      .select(['id', 'tenant_id'])
      .where('sandbox_id', 'is not', null)
      .where('revoked_at', 'is', null)
      .where('sandbox_id', 'not in', (select) =>
        select
          .selectFrom('sandboxes')
          .select('sandboxes.id')
          .where('sandboxes.state', 'in', [...ALIVE_STATES]),
      )
      .execute()
    for (const { id, tenant_id: tenantId } of rows) await this.revoke(tenantId, id)
  }

  /** Removes keys that have not worked since then, delegated ones sooner, of which a sandbox may make many; and answers how many. */
  async purge(deadBefore: { readonly delegated: number; readonly others: number }): Promise<number> {
    const { delegated, others } = deadBefore
    return (await this.#purge('is not', delegated)) + (await this.#purge('is', others))
  }

  async #purge(path: 'is' | 'is not', deadBefore: number): Promise<number> {
    return await inBatches(async (limit) => {
      const dead = this.#database.query
        .selectFrom('api_keys')
        .select('id')
        .where('path', path, null)
        .where((where) => where.or([where('revoked_at', '<', deadBefore), where('expires_at', '<', deadBefore)]))
        .limit(limit)
      return await this.#database.query.deleteFrom('api_keys').where('id', 'in', dead).executeTakeFirst()
    })
  }

  /** Whoever makes keys below others and whoever ends those see each other: no key is made below one that was just revoked. */
  async #inTurn<T>(tenantId: string, work: (database: Database) => Promise<T>): Promise<T> {
    return await atomically(this.#database, async (database) => {
      await new TenantRepository(database, this.#sources).lock(tenantId)
      return await work(database)
    })
  }

  async #find({ query }: Database, ids: readonly string[]): Promise<ApiKey[]> {
    if (ids.length === 0) return []
    const rows = await query.selectFrom('api_keys').selectAll().where('id', 'in', ids).execute()
    return rows.map(decode)
  }

  #works({ revokedAt, expiresAt }: ApiKey): boolean {
    return revokedAt === null && (expiresAt === null || expiresAt > this.#sources.now())
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
    grant: row.granted === null ? null : (JSON.parse(row.granted) as Grant),
    path: row.path,
    sandboxId: row.sandbox_id as SandboxId | null,
  }
}
