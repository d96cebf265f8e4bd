import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Addresses that are told events, and how far each has been told. */
export const webhooks: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema
      .createTable('webhooks')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('url', 'text', (column) => column.notNull())
      .addColumn('events', 'text', (column) => column.notNull())
      .addColumn('enabled', 'integer', (column) => column.notNull())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addColumn('told', 'bigint', (column) => column.notNull())
      .addColumn('refusals', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('failures', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('failure', 'text')
      .addColumn('delivered_at', 'bigint')
      .addColumn('next_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('owner', 'text')
      .addColumn('lease_until', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema.createIndex('webhooks_by_tenant').on('webhooks').columns(['tenant_id', 'id']).execute()
  },
}
