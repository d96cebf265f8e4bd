import type { Updateable } from 'kysely'
import { BOUNDS, HearthError, type RepositoryId, type RepositoryState } from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import type { RepositoriesTable } from '../database/workspace-tables.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import { decodeRepository, mergedLocation, type NewRepository, type RepositoryRecord } from './repository-record.ts'
import { refusedMove, repositorySources } from './states.ts'

export class RepositoryTable {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes down one that is being cloned. One of the same address is given, with what was said of it now; what was not said stays as it was. */
  async add({ id, tenantId, hostId, location }: NewRepository): Promise<RepositoryRecord> {
    const now = this.#sources.now()
    const address = location.url ?? location.path ?? ''
    return await atomically(this.#database, async ({ query }) => {
      const known = await query
        .selectFrom('repositories')
        .selectAll()
        .where('tenant_id', '=', tenantId)
        .where('host_id', '=', hostId)
        .where('address', '=', address)
        .executeTakeFirst()
      const merged = JSON.stringify(known === undefined ? location : mergedLocation(decodeRepository(known), location))
      const row = await query
        .insertInto('repositories')
        .values({
          id,
          tenant_id: tenantId,
          host_id: hostId,
          state: 'cloning',
          address,
          location: JSON.stringify(location),
          bytes: 0,
          created_at: now,
          used_at: now,
        })
        .onConflict((conflict) =>
          conflict.columns(['tenant_id', 'host_id', 'address']).doUpdateSet({ location: merged }),
        )
        .returningAll()
        .executeTakeFirstOrThrow()
      const { count } = await query
        .selectFrom('repositories')
        .where('tenant_id', '=', tenantId)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count) > BOUNDS.repositories)
        throw new HearthError(
          'quota_exceeded',
          `this tenant has ${BOUNDS.repositories} repositories, which is the most`,
        )
      return decodeRepository(row)
    })
  }

  /** Null also for one of another tenant. */
  async find(tenantId: string, id: string): Promise<RepositoryRecord | null> {
    const query = this.#database.query.selectFrom('repositories').selectAll().where('tenant_id', '=', tenantId)
    const row = await query.where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : decodeRepository(row)
  }

  /** `conflict` where there is no way from its state to this one. */
  async move(
    id: RepositoryId,
    to: RepositoryState,
    patch: Partial<Pick<RepositoryRecord, 'defaultBranch' | 'bytes' | 'fetchedAt' | 'reason'>> = {},
  ): Promise<RepositoryRecord> {
    const change: Updateable<RepositoriesTable> = { state: to }
    if (patch.defaultBranch !== undefined) change.default_branch = patch.defaultBranch
    if (patch.bytes !== undefined) change.bytes = patch.bytes
    if (patch.fetchedAt !== undefined) change.fetched_at = patch.fetchedAt
    if (patch.reason !== undefined) change.reason = patch.reason
    const query = this.#database.query.updateTable('repositories').set(change).where('id', '=', id)
    const row = await query.where('state', 'in', repositorySources(to)).returningAll().executeTakeFirst()
    if (row === undefined) throw refusedMove('repository', id, to)
    return decodeRepository(row)
  }

  /** What is known of one that stays as it is. */
  async note(
    id: RepositoryId,
    known: { readonly defaultBranch: string | null; readonly bytes: number },
  ): Promise<RepositoryRecord> {
    const change = {
      default_branch: known.defaultBranch,
      bytes: known.bytes,
      fetched_at: this.#sources.now(),
      reason: null,
    }
    const query = this.#database.query.updateTable('repositories').set(change).where('id', '=', id)
    const row = await query.where('state', '=', 'ready').returningAll().executeTakeFirst()
    if (row === undefined) throw refusedMove('repository', id, 'ready')
    return decodeRepository(row)
  }

  async used(id: RepositoryId): Promise<void> {
    await this.#database.query
      .updateTable('repositories')
      .set({ used_at: this.#sources.now() })
      .where('id', '=', id)
      .execute()
  }

  /** The one at this address; null when it is not known. */
  async at(tenantId: string, hostId: string, address: string): Promise<RepositoryRecord | null> {
    const query = this.#database.query.selectFrom('repositories').selectAll().where('tenant_id', '=', tenantId)
    const row = await query.where('host_id', '=', hostId).where('address', '=', address).executeTakeFirst()
    return row === undefined ? null : decodeRepository(row)
  }

  async list(tenantId: string, options: PageOptions): Promise<Page<RepositoryRecord>> {
    const query = this.#database.query.selectFrom('repositories').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(query, options, decodeRepository)
  }

  /** Those of a host in one of these states, the longest unused first. */
  async ofHost(hostId: string, states: readonly RepositoryState[]): Promise<RepositoryRecord[]> {
    const query = this.#database.query.selectFrom('repositories').selectAll().where('host_id', '=', hostId)
    const rows = await query
      .where('state', 'in', [...states])
      .orderBy('used_at')
      .execute()
    return rows.map(decodeRepository)
  }

  /** There is nothing of it any more. */
  async forget(id: RepositoryId): Promise<void> {
    await this.#database.query.deleteFrom('repositories').where('id', '=', id).execute()
  }
}
