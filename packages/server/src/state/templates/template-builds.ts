import { randomUUID } from 'node:crypto'
import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from 'kysely'
import { HearthError, type SnapshotId } from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import type { Tables } from '../database/tables.ts'
import { decodeTemplateBuild, type NewTemplateBuild, type TemplateBuild } from './template-build-record.ts'

/** Builds of one tenant, also those that are over. */
export const MOST_TEMPLATE_BUILDS = 1000
/** Nobody has written anything about it for this long: it is not carried out any more. */
export const ABANDONED_MS = 60_000
const DEFAULT_TAG = 'default'

export class TemplateBuildRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  async create(given: NewTemplateBuild): Promise<TemplateBuild> {
    return await atomically(this.#database, async (inside) => await this.#insert(inside, given, { state: 'waiting' }))
  }

  /** A snapshot that was taken leads from a name and a tag from now on; what they led to before is there under its identifier. */
  async adopt(given: Pick<TemplateBuild, 'tenantId' | 'name'>, tag: string, snapshotId: SnapshotId): Promise<void> {
    const { tenantId, name } = given
    await atomically(this.#database, async (inside) => {
      const ready = { state: 'ready', adopted: 1, snapshot_id: snapshotId } as const
      const { id } = await this.#insert(inside, { tenantId, name, tags: [tag], limits: {} }, ready)
      const named = inside.query.updateTable('snapshots').set({ name: null }).where('tenant_id', '=', tenantId)
      if (tag === DEFAULT_TAG) await named.where('name', '=', name).execute()
      await this.#assign(inside, { tenantId, name, id }, [tag])
    })
  }

  /** A build is begun once: `conflict` after that. */
  async begin(id: string, user: string | null): Promise<void> {
    const change = { state: 'building', user, ...this.#touched() } as const
    const query = this.#database.query.updateTable('template_builds').set(change)
    const { numUpdatedRows } = await query.where('id', '=', id).where('state', '=', 'waiting').executeTakeFirst()
    if (Number(numUpdatedRows) === 0) throw new HearthError('conflict', `build ${id} was started already`)
  }

  /** It goes on. */
  async touch(ids: readonly string[], sandboxId?: string): Promise<void> {
    if (ids.length === 0) return
    const change = { ...this.#touched(), ...(sandboxId === undefined ? {} : { sandbox_id: sandboxId }) }
    const query = this.#database.query.updateTable('template_builds').set(change).where('state', '=', 'building')
    await query.where('id', 'in', [...ids]).execute()
  }

  async failed(id: string, reason: NonNullable<TemplateBuild['reason']>): Promise<void> {
    const change = { state: 'error', reason: JSON.stringify(reason), sandbox_id: null, ...this.#touched() } as const
    const query = this.#database.query.updateTable('template_builds').set(change).where('id', '=', id)
    await query.where('state', 'in', ['waiting', 'building']).execute()
  }

  /** Its tags lead to it from now on. The snapshot has the name of the template while it is the default one and the name is free. */
  async ready({ id, tenantId, name, tags }: TemplateBuild, snapshotId: SnapshotId): Promise<void> {
    await atomically(this.#database, async (inside) => {
      const { numUpdatedRows } = await inside.query
        .updateTable('template_builds')
        .set({ state: 'ready', snapshot_id: snapshotId, sandbox_id: null, ...this.#touched() })
        .where('id', '=', id)
        .where('state', '=', 'building')
        .executeTakeFirst()
      if (Number(numUpdatedRows) === 0) throw new HearthError('conflict', `build ${id} is no longer waited for`)
      await this.#assign(inside, { tenantId, name, id }, tags)
    })
  }

  /** `not_found` also for one of another tenant. */
  async get(tenantId: string, id: string): Promise<TemplateBuild> {
    const query = this.#database.query.selectFrom('template_builds').selectAll().where('tenant_id', '=', tenantId)
    const row = await query.where('id', '=', id).executeTakeFirst()
    if (row === undefined) throw new HearthError('not_found', `there is no build ${id.slice(0, 64)}`)
    return decodeTemplateBuild(row)
  }

  /** Of one template, or of all, with the snapshots of such names; the newest first. */
  async list(tenantId: string, name?: string): Promise<TemplateBuild[]> {
    let query = this.#database.query
      .selectFrom('template_builds')
      .selectAll()
      .where('tenant_id', '=', tenantId)
      .where((where) => where.not(isGone(where)))
    if (name !== undefined) query = query.where('name', '=', name)
    return (await query.orderBy('created_at', 'desc').orderBy('id').execute()).map(decodeTemplateBuild)
  }

  /** Of all tenants: those that no tag leads to, those that are not ready, and those whose snapshot was removed. */
  async unsettled(): Promise<TemplateBuild[]> {
    const query = this.#database.query.selectFrom('template_builds').selectAll()
    const rows = query.where((where) =>
      where.or([where('state', '!=', 'ready'), where('tags', '=', '[]'), isGone(where)]),
    )
    return (await rows.limit(MOST_TEMPLATE_BUILDS).execute()).map(decodeTemplateBuild)
  }

  /** These tags of the template lead to this build from now on, besides those that do already. */
  async assign({ tenantId, name, id }: TemplateBuild, tags: readonly string[]): Promise<void> {
    await atomically(this.#database, async (inside) => {
      const build = (await this.#ofName(inside, tenantId, name)).find((each) => each.id === id)
      if (build?.state !== 'ready') throw new HearthError('conflict', `build ${id} is not there any more`)
      await this.#assign(inside, { tenantId, name, id }, [...new Set([...build.tags, ...tags])])
    })
  }

  /** These tags of the template lead nowhere from now on. */
  async unassign(tenantId: string, name: string, tags: readonly string[]): Promise<void> {
    await atomically(this.#database, async (inside) => {
      await this.#takeAway(inside, await this.#ofName(inside, tenantId, name), tags)
      if (tags.includes(DEFAULT_TAG)) await this.#giveName(inside, tenantId, name, null)
    })
  }

  async remove(tenantId: string, id: string): Promise<void> {
    const query = this.#database.query.deleteFrom('template_builds').where('tenant_id', '=', tenantId)
    await query.where('id', '=', id).execute()
  }

  async #insert(
    { query }: Database,
    { tenantId, name, tags, limits }: NewTemplateBuild,
    more: { readonly state: TemplateBuild['state']; readonly adopted?: number; readonly snapshot_id?: SnapshotId },
  ): Promise<TemplateBuild> {
    const now = this.#sources.now()
    const row = await query
      .insertInto('template_builds')
      .values({
        id: randomUUID(),
        tenant_id: tenantId,
        name,
        tags: JSON.stringify(tags),
        limits: JSON.stringify(limits),
        created_at: now,
        updated_at: now,
        ...more,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
    const count = await query
      .selectFrom('template_builds')
      .where('tenant_id', '=', tenantId)
      .select(({ fn }) => fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    if (Number(count.count) > MOST_TEMPLATE_BUILDS) {
      throw new HearthError('quota_exceeded', `this tenant has ${MOST_TEMPLATE_BUILDS} builds, which is the most`)
    }
    return decodeTemplateBuild(row)
  }

  async #assign(
    inside: Database,
    { tenantId, name, id }: Pick<TemplateBuild, 'tenantId' | 'name' | 'id'>,
    tags: readonly string[],
  ): Promise<void> {
    const builds = await this.#ofName(inside, tenantId, name)
    const others = builds.filter((build) => build.id !== id && build.state === 'ready')
    await this.#takeAway(inside, others, tags)
    await this.#setTags(inside, id, tags)
    if (tags.includes(DEFAULT_TAG)) {
      await this.#giveName(inside, tenantId, name, builds.find((build) => build.id === id)?.snapshotId ?? null)
    }
  }

  async #takeAway(inside: Database, builds: readonly TemplateBuild[], tags: readonly string[]): Promise<void> {
    for (const build of builds) {
      const left = build.tags.filter((tag) => !tags.includes(tag))
      if (left.length < build.tags.length) await this.#setTags(inside, build.id, left)
    }
  }

  async #setTags({ query }: Database, id: string, tags: readonly string[]): Promise<void> {
    const change = { tags: JSON.stringify([...tags].sort()), ...this.#touched() }
    await query.updateTable('template_builds').set(change).where('id', '=', id).execute()
  }

  /** Takes the name from the builds of the template and gives it to this snapshot, unless another has it. */
  async #giveName({ query }: Database, tenantId: string, name: string, snapshotId: SnapshotId | null): Promise<void> {
    const ofTenant = query.updateTable('snapshots').where('tenant_id', '=', tenantId)
    await ofTenant
      .set({ name: null })
      .where('name', '=', name)
      .where('id', 'in', (select) =>
        select
          .selectFrom('template_builds')
          .select('snapshot_id')
          .where('tenant_id', '=', tenantId)
          .where('name', '=', name)
          .$narrowType<{ snapshot_id: string }>(),
      )
      .execute()
    const taken = query.selectFrom('snapshots').select('id').where('tenant_id', '=', tenantId).where('name', '=', name)
    if (snapshotId === null || (await taken.executeTakeFirst()) !== undefined) return
    await ofTenant.set({ name }).where('id', '=', snapshotId).execute()
  }

  async #ofName({ query }: Database, tenantId: string, name: string): Promise<TemplateBuild[]> {
    const rows = query.selectFrom('template_builds').selectAll().where('tenant_id', '=', tenantId)
    return (await rows.where('name', '=', name).execute()).map(decodeTemplateBuild)
  }

  #touched(): { readonly updated_at: number } {
    return { updated_at: this.#sources.now() }
  }
}

/** Somebody removed its snapshot. */
function isGone(
  where: ExpressionBuilder<Tables, 'template_builds'>,
): ExpressionWrapper<Tables, 'template_builds', SqlBool> {
  const snapshot = where
    .selectFrom('snapshots')
    .select('id')
    .whereRef('snapshots.id', '=', 'template_builds.snapshot_id')
  return where.and([where('snapshot_id', 'is not', null), where.not(where.exists(snapshot))])
}
