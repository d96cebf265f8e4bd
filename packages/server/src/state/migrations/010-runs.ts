import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Runs of agents, their events, and what they are told. Identifiers are a tenant's own: what another has under one is nobody's business. */
export const runs: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema
      .createTable('runs')
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('id', 'text', (column) => column.notNull())
      .addColumn('given', 'text', (column) => column.notNull())
      .addColumn('parent_id', 'text')
      .addColumn('sandbox_id', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('progress', 'text', (column) => column.notNull())
      .addColumn('owner', 'text')
      .addColumn('lease', 'bigint', (column) => column.notNull())
      .addColumn('lease_until', 'bigint', (column) => column.notNull())
      .addColumn('events', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('messages', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('runs_key', ['tenant_id', 'id'])
      .execute()
    await schema.createIndex('runs_by_age').on('runs').columns(['tenant_id', 'created_at', 'id']).execute()
    await schema.createIndex('runs_by_state').on('runs').columns(['tenant_id', 'state']).execute()
    await schema
      .createTable('run_labels')
      .addColumn('tenant_id', 'text', (column) => column.notNull())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('label', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_labels_key', ['tenant_id', 'label', 'run_id'])
      .execute()
    await schema
      .createTable('run_events')
      .addColumn('tenant_id', 'text', (column) => column.notNull())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('seq', 'bigint', (column) => column.notNull())
      .addColumn('bytes', 'bigint', (column) => column.notNull())
      .addColumn('event', 'text', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_events_key', ['tenant_id', 'run_id', 'seq'])
      .execute()
    await schema
      .createTable('run_messages')
      .addColumn('tenant_id', 'text', (column) => column.notNull())
      .addColumn('run_id', 'text', (column) => column.notNull())
      .addColumn('number', 'bigint', (column) => column.notNull())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('text', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('run_messages_key', ['tenant_id', 'run_id', 'number'])
      .execute()
  },
}
