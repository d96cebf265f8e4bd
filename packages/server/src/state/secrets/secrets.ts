import type { Selectable } from 'kysely'
import { canonicalJson, HearthError, type Secret, type SecretBinding } from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import { byName, type Page, type PageOptions } from '../database/page.ts'
import type { SecretsTable } from '../database/tables.ts'
import type { SecretBox } from './secret-box.ts'

/** Secrets of one tenant. */
export const MOST_SECRETS = 1000

/** All that is told of a secret. Its value is given to the gateway alone. */
export interface StoredSecret {
  readonly name: string
  readonly binding: SecretBinding
  readonly createdAt: number
  readonly updatedAt: number
}

export class SecretRepository {
  readonly #database: Database
  readonly #sources: Sources
  readonly #box: SecretBox | null

  /** Without a box secrets can be seen and removed, but neither stored nor read. */
  constructor(database: Database, sources: Sources, box: SecretBox | null) {
    this.#database = database
    this.#sources = sources
    this.#box = box
  }

  /** Stores it, or replaces the one of that name. */
  async put(tenantId: string, { name, value, binding }: Secret): Promise<StoredSecret> {
    const box = this.#requireBox()
    const now = this.#sources.now()
    const sealed = {
      binding: canonicalJson(binding),
      sealed: box.seal(value, ownerText(tenantId, name, canonicalJson(binding))),
      key_id: box.keyId,
      updated_at: now,
    }
    return await atomically(this.#database, async ({ query }) => {
      const row = await query
        .insertInto('secrets')
        .values({ tenant_id: tenantId, name, created_at: now, ...sealed })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'name']).doUpdateSet(sealed))
        .returningAll()
        .executeTakeFirstOrThrow()
      const count = await query
        .selectFrom('secrets')
        .where('tenant_id', '=', tenantId)
        .select(({ fn }) => fn.countAll().as('count'))
        .executeTakeFirstOrThrow()
      if (Number(count.count) > MOST_SECRETS) {
        throw new HearthError('quota_exceeded', `this tenant has ${MOST_SECRETS} secrets, which is the most`, {
          suggestion: 'Remove secrets that are no longer needed.',
        })
      }
      return decode(row)
    })
  }

  /** By name. */
  async list(tenantId: string, options: PageOptions = {}): Promise<Page<StoredSecret>> {
    const query = this.#database.query.selectFrom('secrets').selectAll().where('tenant_id', '=', tenantId)
    return await byName(query, options, decode)
  }

  /** Those of these names that there are. */
  async named(tenantId: string, names: readonly string[]): Promise<StoredSecret[]> {
    if (names.length === 0) return []
    const query = this.#database.query.selectFrom('secrets').selectAll().where('tenant_id', '=', tenantId)
    return (await query.where('name', 'in', names).execute()).map(decode)
  }

  /** `secret_not_found` also for one of another tenant. */
  async get(tenantId: string, name: string): Promise<StoredSecret> {
    const row = await this.#find(tenantId, name)
    if (row === undefined) throw notFound(name)
    return decode(row)
  }

  /** With its value, for the gateway; null when there is none. */
  async reveal(tenantId: string, name: string): Promise<Secret | null> {
    const row = await this.#find(tenantId, name)
    if (row === undefined) return null
    const value = this.#requireBox().open(row.sealed, row.key_id, ownerText(tenantId, name, row.binding))
    return { name, value, binding: decode(row).binding }
  }

  async remove(tenantId: string, name: string): Promise<void> {
    const query = this.#database.query.deleteFrom('secrets').where('tenant_id', '=', tenantId)
    const { numDeletedRows } = await query.where('name', '=', name).executeTakeFirst()
    if (Number(numDeletedRows) === 0) throw notFound(name)
  }

  #find(tenantId: string, name: string): Promise<Selectable<SecretsTable> | undefined> {
    const query = this.#database.query.selectFrom('secrets').selectAll().where('tenant_id', '=', tenantId)
    return query.where('name', '=', name).executeTakeFirst()
  }

  #requireBox(): SecretBox {
    if (this.#box !== null) return this.#box
    throw new HearthError('secret_unreadable', 'this store was opened without the key for secrets')
  }
}

/** A binding that somebody widens in the database makes the value unreadable. */
function ownerText(tenantId: string, name: string, binding: string): string {
  return JSON.stringify([tenantId, name, binding])
}

function decode(row: Selectable<SecretsTable>): StoredSecret {
  const { name, binding, created_at: createdAt, updated_at: updatedAt } = row
  return { name, binding: JSON.parse(binding) as SecretBinding, createdAt, updatedAt }
}

function notFound(name: string): HearthError {
  return new HearthError('secret_not_found', `there is no secret ${name}`, { context: { secret: name } })
}
