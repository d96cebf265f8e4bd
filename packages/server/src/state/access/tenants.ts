import type { Selectable } from 'kysely'
import { DEFAULT_QUOTAS, HearthError, parseInput, quotasSchema, type Quotas } from '@hearth/contract'
import type { Database, Sources } from '../database/database.ts'
import { oldestFirst, type Page, type PageOptions } from '../database/page.ts'
import type { TenantsTable } from '../database/tables.ts'
import { countUsage, type Usage } from '../sandboxes/usage.ts'
import { removeTenant } from './remove-tenant.ts'

export interface Tenant {
  readonly id: string
  readonly name: string
  readonly quotas: Quotas
  readonly createdAt: number
}

/** Tenants cannot see each other: every other repository takes the tenant as a filter. */
export class TenantRepository {
  readonly #database: Database
  readonly #sources: Sources
  /** Of a new tenant that is given none. */
  readonly #quotas: Quotas

  constructor(database: Database, sources: Sources, quotas: Quotas = DEFAULT_QUOTAS) {
    this.#database = database
    this.#sources = sources
    this.#quotas = quotas
  }

  /** `conflict` when the name is taken. Quotas that are not given have their defaults. */
  async create(input: { readonly name: string; readonly quotas?: Partial<Quotas> }): Promise<Tenant> {
    const quotas = parseInput(quotasSchema, { ...this.#quotas, ...input.quotas }, 'quotas')
    const row = await this.#database.query
      .insertInto('tenants')
      .values({
        id: this.#sources.newId('tn'),
        name: input.name,
        quotas: JSON.stringify(quotas),
        created_at: this.#sources.now(),
      })
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returningAll()
      .executeTakeFirst()
    if (row === undefined) throw new HearthError('conflict', `there is a tenant named ${input.name} already`)
    return decode(row)
  }

  async get(id: string): Promise<Tenant> {
    const row = await this.#database.query.selectFrom('tenants').selectAll().where('id', '=', id).executeTakeFirst()
    return found(row, id)
  }

  /** Null when there is none of that name. */
  async findByName(name: string): Promise<Tenant | null> {
    const query = this.#database.query.selectFrom('tenants').selectAll().where('name', '=', name)
    const row = await query.executeTakeFirst()
    return row === undefined ? null : decode(row)
  }

  /** Oldest first. */
  async list(options: PageOptions = {}): Promise<Page<Tenant>> {
    return await oldestFirst(this.#database.query.selectFrom('tenants').selectAll(), options, decode)
  }

  /** What it holds now, in the terms of its quotas. */
  async usage(id: string): Promise<Usage> {
    return await countUsage(this.#database, id)
  }

  /** With its keys, secrets, runs and events; `conflict` while it holds anything on a host. */
  async remove(id: string): Promise<void> {
    await removeTenant(this.#database, id, (inside) => new TenantRepository(inside, this.#sources).lock(id))
  }

  async setQuotas(id: string, change: Partial<Quotas>): Promise<Tenant> {
    const { quotas } = await this.get(id)
    const wanted = parseInput(quotasSchema, { ...quotas, ...change }, 'quotas')
    const row = await this.#database.query
      .updateTable('tenants')
      .set({ quotas: JSON.stringify(wanted) })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirst()
    return found(row, id)
  }

  /**
   * Reads a tenant and holds its row until the transaction ends, so that of two that count what it uses and then add to it
   * the second sees the first. SQLite has one writer at a time and needs no lock.
   */
  async lock(id: string): Promise<Tenant> {
    const query = this.#database.query.selectFrom('tenants').selectAll().where('id', '=', id)
    const row = await (this.#database.dialect === 'postgres' ? query.forNoKeyUpdate() : query).executeTakeFirst()
    return found(row, id)
  }
}

function found(row: Selectable<TenantsTable> | undefined, id: string): Tenant {
  if (row === undefined) throw new HearthError('not_found', `there is no tenant ${id}`, { context: { tenant: id } })
  return decode(row)
}

function decode(row: Selectable<TenantsTable>): Tenant {
  // A quota that is younger than the tenant has its default.
  const quotas = { ...DEFAULT_QUOTAS, ...(JSON.parse(row.quotas) as Partial<Quotas>) }
  return { id: row.id, name: row.name, quotas, createdAt: row.created_at }
}
