import { HearthError, type SandboxId, type VolumeId } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import {
  decodeVolume,
  VOLUME_TRANSITIONS,
  type NewVolume,
  type VolumeRecord,
  type VolumeState,
} from './volume-record.ts'

/** Those that somebody is told of. */
const SHOWN = ['ready', 'lost'] as const

export class VolumeRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes down one that is being made. `conflict` when its tenant has another of that name. Does not look at quotas. */
  async insert(input: NewVolume): Promise<VolumeRecord> {
    const { id, tenantId, hostId, name = null, sandboxId = null, workspaceId = null, diskBytes } = input
    const row = await this.#database.query
      .insertInto('volumes')
      .values({
        id,
        tenant_id: tenantId,
        host_id: hostId,
        state: 'creating',
        name,
        lifetime: sandboxId === null ? 'durable' : 'sandbox',
        sandbox_id: sandboxId,
        workspace_id: workspaceId,
        disk_bytes: diskBytes,
        created_at: this.#sources.now(),
      })
      .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doNothing())
      .returningAll()
      .executeTakeFirst()
    if (row !== undefined) return decodeVolume(row)
    throw new HearthError('conflict', `another volume is called ${name}`, {
      context: { name },
      suggestion: `Choose another name, or remove that one first: \`hearth volume rm ${name}\`.`,
    })
  }

  /** Of this tenant alone, by identifier or name; null for one that is being made or removed. */
  async find(tenantId: string, volume: string): Promise<VolumeRecord | null> {
    const row = await this.#database.query
      .selectFrom('volumes')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where('state', 'in', SHOWN)
      .where((where) => where.or([where('id', '=', volume), where('name', '=', volume)]))
      .executeTakeFirst()
    return row === undefined ? null : decodeVolume(row)
  }

  /** In whatever state. */
  async get(id: VolumeId): Promise<VolumeRecord | null> {
    const row = await this.#database.query.selectFrom('volumes').selectAll().where('id', '=', id).executeTakeFirst()
    return row === undefined ? null : decodeVolume(row)
  }

  async list(tenantId: string, options: PageOptions): Promise<Page<VolumeRecord>> {
    const query = this.#database.query.selectFrom('volumes').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(query.where('state', 'in', SHOWN), options, decodeVolume)
  }

  /** All of a host, oldest first. */
  async ofHost(hostId: string): Promise<VolumeRecord[]> {
    const query = this.#database.query.selectFrom('volumes').selectAll().where('host_id', '=', hostId)
    return (await query.orderBy('created_at').orderBy('id').execute()).map(decodeVolume)
  }

  /** Those that go with a sandbox, oldest first. */
  async ofSandbox(sandboxId: SandboxId): Promise<VolumeRecord[]> {
    const query = this.#database.query.selectFrom('volumes').selectAll().where('sandbox_id', '=', sandboxId)
    return (await query.orderBy('created_at').orderBy('id').execute()).map(decodeVolume)
  }

  /** From this state to another. False when it is in a third by now, for example since somebody else removes it. */
  async move(id: VolumeId, from: VolumeState, to: VolumeState): Promise<boolean> {
    if (!VOLUME_TRANSITIONS[from].includes(to))
      throw new HearthError('invalid_state', `a volume that is ${from} cannot become ${to}`, { context: { from, to } })
    const query = this.#database.query.updateTable('volumes').set({ state: to })
    const { numUpdatedRows } = await query.where('id', '=', id).where('state', '=', from).executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** It stays when its sandbox ends. */
  async keep(id: VolumeId): Promise<void> {
    const query = this.#database.query.updateTable('volumes').set({ lifetime: 'durable', sandbox_id: null })
    await query.where('id', '=', id).execute()
  }

  /** There is nothing of it any more. */
  async forget(id: VolumeId): Promise<void> {
    await this.#database.query.deleteFrom('volumes').where('id', '=', id).execute()
  }
}
