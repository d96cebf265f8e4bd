import { HearthError, nameTaken, type SnapshotId, type SnapshotInfo } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import { decodeSnapshot, type NewSnapshot, type SnapshotRecord, type SnapshotState } from './snapshot-record.ts'

export class SnapshotRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes down one that is being made. `conflict` when its tenant has another of that name. Does not look at quotas. */
  async insert(input: NewSnapshot): Promise<SnapshotRecord> {
    const row = await this.#database.query
      .insertInto('snapshots')
      .values({
        id: input.id,
        tenant_id: input.tenantId,
        sandbox_id: input.sandboxId,
        parent_id: null,
        bytes: input.bytes,
        manifest: '{}',
        created_at: this.#sources.now(),
        name: input.name,
        state: input.state,
        host_id: input.hostId,
      })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
      .returningAll()
      .executeTakeFirst()
    if (row !== undefined) return decodeSnapshot(row)
    throw nameTaken(input.name)
  }

  /** It is made. `conflict` when it is no longer waited for. */
  async ready(id: SnapshotId, info: SnapshotInfo): Promise<SnapshotRecord> {
    const row = await this.#database.query
      .updateTable('snapshots')
      .set({
        state: 'ready',
        manifest: JSON.stringify(info),
        parent_id: info.parent,
        bytes: info.diskBytes + info.memoryBytes,
      })
      .where('id', '=', id)
      .where('state', 'in', ['creating', 'importing'])
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw new HearthError('conflict', `snapshot ${id} is no longer being made`)
    return decodeSnapshot(row)
  }

  /** By identifier or name, of this tenant alone; null for one that is not ready. */
  async find(tenantId: string, snapshot: string): Promise<SnapshotRecord | null> {
    const row = await this.#database.query
      .selectFrom('snapshots')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('state', '=', 'ready')
      .where((where) => where.or([where('id', '=', snapshot), where('name', '=', snapshot)]))
      .executeTakeFirst()
    return row === undefined ? null : decodeSnapshot(row)
  }

  /** In whatever state. */
  async get(id: SnapshotId): Promise<SnapshotRecord | null> {
    const query = this.#database.query.selectFrom('snapshots').selectAll().where('id', '=', id)
    const row = await query.executeTakeFirst()
    return row === undefined ? null : decodeSnapshot(row)
  }

  async list(tenantId: string, options: PageOptions): Promise<Page<SnapshotRecord>> {
    const query = this.#database.query.selectFrom('snapshots').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(query.where('state', '=', 'ready'), options, decodeSnapshot)
  }

  /** Those of a host that are in one of these states, oldest first. */
  async ofHost(hostId: string, states: readonly SnapshotState[]): Promise<SnapshotRecord[]> {
    const rows = await this.#database.query
      .selectFrom('snapshots')
      .selectAll()
      .where('host_id', '=', hostId)
      .where('state', 'in', [...states])
      .orderBy('created_at')
      .execute()
    return rows.map(decodeSnapshot)
  }

  /** From now on nobody finds it; its name is free when it is gone. False when it is not ready, for example since somebody else removes it. */
  async retire(id: SnapshotId): Promise<boolean> {
    return await this.#move(id, 'ready', 'deleting')
  }

  /** It could not be removed. */
  async restore(id: SnapshotId): Promise<boolean> {
    return await this.#move(id, 'deleting', 'ready')
  }

  async #move(id: SnapshotId, from: SnapshotState, to: SnapshotState): Promise<boolean> {
    const query = this.#database.query.updateTable('snapshots').set({ state: to })
    const { numUpdatedRows } = await query.where('id', '=', id).where('state', '=', from).executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** There is nothing of it any more. */
  async forget(id: SnapshotId): Promise<void> {
    await this.#database.query.deleteFrom('snapshots').where('id', '=', id).execute()
  }
}
