import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Secrets, and events that are chained by hashes, each sandbox for itself. */
export const egress: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema.alterTable('events').addColumn('hash', 'text').execute()
    await schema
      .alterTable('event_drops')
      .addColumn('chained', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute()
    await schema.alterTable('event_drops').addColumn('hash', 'text').execute()
    await schema
      .createTable('event_chains')
      .addColumn('sandbox_id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull())
      .addColumn('length', 'bigint', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('hash', 'text', (column) => column.notNull())
      .addColumn('signature', 'text')
      .addColumn('public_key', 'text')
      .addColumn('broken_at', 'bigint')
      .execute()
    await schema
      .createTable('secrets')
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('binding', 'text', (column) => column.notNull())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addColumn('key_id', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('secrets_pk', ['tenant_id', 'name'])
      .execute()
  },
}
