import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Templates that clients of other vendors build: each build becomes a snapshot, and tags of a name lead to builds. */
export const templateBuilds: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema
      .createTable('template_builds')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('tags', 'text', (column) => column.notNull())
      .addColumn('limits', 'text', (column) => column.notNull())
      .addColumn('user', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('snapshot_id', 'text')
      .addColumn('sandbox_id', 'text')
      .addColumn('reason', 'text')
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute()
    await schema
      .createIndex('template_builds_by_name')
      .on('template_builds')
      .columns(['tenant_id', 'name', 'created_at'])
      .execute()
  },
}
