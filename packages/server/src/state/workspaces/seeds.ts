import type { Selectable } from 'kysely'
import type { RepositoryId, VolumeId } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import type { SeedsTable } from '../database/workspace-tables.ts'

/** A checkout of one commit that nobody writes to. */
export interface SeedRecord {
  /** Of its volume. */
  readonly id: VolumeId
  readonly repositoryId: RepositoryId
  /** The commit. */
  readonly base: string
  readonly state: SeedsTable['state']
  readonly usedAt: number
}

export class SeedTable {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes down one that is being made; null when there is one of that commit. */
  async insert(
    seed: Pick<SeedRecord, 'id' | 'repositoryId' | 'base'> & { readonly hostId: string },
  ): Promise<SeedRecord | null> {
    const now = this.#sources.now()
    const { id, repositoryId, base, hostId } = seed
    const row = await this.#database.query
      .insertInto('seeds')
      .values({
        id,
        repository_id: repositoryId,
        host_id: hostId,
        base,
        state: 'making',
        created_at: now,
        used_at: now,
      })
      .onConflict((conflict) => conflict.columns(['repository_id', 'base']).doNothing())
      .returningAll()
      .executeTakeFirst()
    return row === undefined ? null : decode(row)
  }

  async move(id: VolumeId, from: SeedRecord['state'], to: SeedRecord['state']): Promise<boolean> {
    const query = this.#database.query.updateTable('seeds').set({ state: to }).where('id', '=', id)
    return Number((await query.where('state', '=', from).executeTakeFirst()).numUpdatedRows) > 0
  }

  async used(id: VolumeId): Promise<void> {
    await this.#database.query.updateTable('seeds').set({ used_at: this.#sources.now() }).where('id', '=', id).execute()
  }

  /** Used last first. */
  async ofRepository(repositoryId: RepositoryId): Promise<SeedRecord[]> {
    const query = this.#database.query.selectFrom('seeds').selectAll().where('repository_id', '=', repositoryId)
    return (await query.orderBy('used_at', 'desc').orderBy('id', 'desc').execute()).map(decode)
  }

  async ofHost(hostId: string, states: readonly SeedRecord['state'][]): Promise<SeedRecord[]> {
    const query = this.#database.query.selectFrom('seeds').selectAll().where('host_id', '=', hostId)
    return (await query.where('state', 'in', [...states]).execute()).map(decode)
  }

  /** Those of a host that no workspace is compared with, and that nobody has used since. */
  async unused(hostId: string, before: number): Promise<SeedRecord[]> {
    const rows = await this.#database.query
      .selectFrom('seeds')
      .selectAll()
      .where('host_id', '=', hostId)
      .where('state', '=', 'ready')
      .where('used_at', '<=', before)
      .where((where) =>
        where.not(
          where.exists(
            where.selectFrom('workspaces').select('workspaces.id').whereRef('workspaces.seed_id', '=', 'seeds.id'),
          ),
        ),
      )
      .execute()
    return rows.map(decode)
  }

  async forget(id: VolumeId): Promise<void> {
    await this.#database.query.deleteFrom('seeds').where('id', '=', id).execute()
  }
}

function decode(row: Selectable<SeedsTable>): SeedRecord {
  const { id, repository_id: repositoryId, base, state, used_at: usedAt } = row
  return { id: id as VolumeId, repositoryId: repositoryId as RepositoryId, base, state, usedAt }
}
