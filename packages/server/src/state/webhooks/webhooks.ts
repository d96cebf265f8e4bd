import type { Selectable } from 'kysely'
import { HearthError } from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import type { WebhooksTable } from '../database/tables.ts'
import type { SecretBox } from '../secrets/secret-box.ts'
import {
  decodeProgress,
  decodeWebhook,
  type ClaimedWebhook,
  type DueWebhook,
  type NewWebhook,
  type Webhook,
  type WebhookProgress,
} from './webhook-record.ts'

/** Webhooks of one tenant. */
export const MOST_WEBHOOKS = 20

export class WebhookRepository {
  readonly #database: Database
  readonly #sources: Sources
  readonly #box: SecretBox | null

  /** Without a box webhooks can be seen and removed, but neither stored nor told anything. */
  constructor(database: Database, sources: Sources, box: SecretBox | null) {
    this.#database = database
    this.#sources = sources
    this.#box = box
  }

  /** It is told what happens from here on. */
  async create(tenantId: string, { secret, ...given }: NewWebhook): Promise<Webhook> {
    const id = this.#sources.newId('wh')
    const now = this.#sources.now()
    return await atomically(this.#database, async ({ query }) => {
      const head = await query.selectFrom('event_sequence').select('value').executeTakeFirstOrThrow()
      const row = await query
        .insertInto('webhooks')
        .values({
          id,
          tenant_id: tenantId,
          name: given.name,
          url: given.url,
          events: JSON.stringify(given.events),
          enabled: given.enabled ? 1 : 0,
          ...this.#sealed(tenantId, id, secret),
          created_at: now,
          updated_at: now,
          told: head.value,
        })
        .returningAll()
        .executeTakeFirstOrThrow()
      const count = await query
        .selectFrom('webhooks')
        .where('tenant_id', '=', tenantId)
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count.count) > MOST_WEBHOOKS) {
        throw new HearthError('quota_exceeded', `this tenant has ${MOST_WEBHOOKS} webhooks, which is the most`)
      }
      return decodeWebhook(row)
    })
  }

  /** The oldest first. */
  async list(tenantId: string): Promise<Webhook[]> {
    const query = this.#database.query.selectFrom('webhooks').selectAll().where('tenant_id', '=', tenantId)
    return (await query.orderBy('created_at').orderBy('id').execute()).map(decodeWebhook)
  }

  /** `not_found` also for one of another tenant. */
  async get(tenantId: string, id: string): Promise<Webhook> {
    const query = this.#database.query.selectFrom('webhooks').selectAll().where('tenant_id', '=', tenantId)
    const row = await query.where('id', '=', id).executeTakeFirst()
    if (row === undefined) throw notFound(id)
    return decodeWebhook(row)
  }

  /** One that is changed is tried again at once. What happened while it was off is not told. */
  async update(tenantId: string, id: string, change: Partial<NewWebhook>): Promise<Webhook> {
    return await atomically(this.#database, async ({ query }) => {
      const found = query.selectFrom('webhooks').selectAll().where('tenant_id', '=', tenantId).where('id', '=', id)
      const before = await found.executeTakeFirst()
      if (before === undefined) throw notFound(id)
      const head = await query.selectFrom('event_sequence').select('value').executeTakeFirstOrThrow()
      const row = await query
        .updateTable('webhooks')
        .set({
          ...(change.name === undefined ? {} : { name: change.name }),
          ...(change.url === undefined ? {} : { url: change.url }),
          ...(change.events === undefined ? {} : { events: JSON.stringify(change.events) }),
          ...(change.enabled === undefined ? {} : { enabled: change.enabled ? 1 : 0 }),
          ...(change.secret === undefined ? {} : this.#sealed(tenantId, id, change.secret)),
          ...(before.enabled === 0 && change.enabled === true ? { told: head.value } : {}),
          updated_at: this.#sources.now(),
          refusals: 0,
          failures: 0,
          next_at: 0,
        })
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirstOrThrow()
      return decodeWebhook(row)
    })
  }

  async remove(tenantId: string, id: string): Promise<void> {
    const query = this.#database.query.deleteFrom('webhooks').where('tenant_id', '=', tenantId)
    const { numDeletedRows } = await query.where('id', '=', id).executeTakeFirst()
    if (Number(numDeletedRows) === 0) throw notFound(id)
  }

  /** Those that are to be told things, of one tenant or of all. */
  async due(tenantId?: string): Promise<DueWebhook[]> {
    const columns = ['id', 'tenant_id as tenantId', 'events', 'told', 'next_at as nextAt'] as const
    let query = this.#database.query.selectFrom('webhooks').select(columns).where('enabled', '=', 1)
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    return (await query.execute()).map((row) => ({ ...row, events: JSON.parse(row.events) as string[] }))
  }

  /** Null when it is off, not yet due, or another's. One statement: of several at once, one has it. */
  async claim(id: string, owner: string, leaseMs: number): Promise<ClaimedWebhook | null> {
    const now = this.#sources.now()
    const row = await this.#database.query
      .updateTable('webhooks')
      .set({ owner, lease_until: now + leaseMs })
      .where('id', '=', id)
      .where('enabled', '=', 1)
      .where('lease_until', '<=', now)
      .where('next_at', '<=', now)
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) return null
    const secret = this.#requireBox().open(row.sealed, row.key_id, ownerText(row.tenant_id, id))
    return { ...decodeWebhook(row), owner, secret, progress: decodeProgress(row) }
  }

  /** Writes down how far it is, and keeps it for `leaseMs` more, or gives it back with 0. False when it is no longer this owner's, or was changed. */
  async proceed(claimed: ClaimedWebhook, progress: WebhookProgress, leaseMs: number): Promise<boolean> {
    const { numUpdatedRows } = await this.#database.query
      .updateTable('webhooks')
      .set({
        told: progress.told,
        refusals: progress.refusals,
        failures: progress.failures,
        failure: progress.failure,
        delivered_at: progress.deliveredAt,
        next_at: progress.nextAt,
        lease_until: leaseMs === 0 ? 0 : this.#sources.now() + leaseMs,
      })
      .where('id', '=', claimed.id)
      .where('owner', '=', claimed.owner)
      .where('updated_at', '=', claimed.updatedAt)
      .executeTakeFirst()
    return Number(numUpdatedRows) === 1
  }

  /** After a change that `proceed` was refused for: whoever comes next begins with what is there now. */
  async release({ id, owner }: Pick<ClaimedWebhook, 'id' | 'owner'>): Promise<void> {
    const query = this.#database.query.updateTable('webhooks').set({ lease_until: 0 }).where('id', '=', id)
    await query.where('owner', '=', owner).execute()
  }

  #sealed(tenantId: string, id: string, secret: string): Pick<Selectable<WebhooksTable>, 'sealed' | 'key_id'> {
    const box = this.#requireBox()
    return { sealed: box.seal(secret, ownerText(tenantId, id)), key_id: box.keyId }
  }

  #requireBox(): SecretBox {
    if (this.#box !== null) return this.#box
    throw new HearthError('secret_unreadable', 'this store was opened without the key for secrets')
  }
}

function ownerText(tenantId: string, id: string): string {
  return JSON.stringify([tenantId, 'webhook', id])
}

function notFound(id: string): HearthError {
  return new HearthError('not_found', `there is no webhook ${id.slice(0, 64)}`)
}
