import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Keys of servers of git, as they were when a tenant first spoke to them with ssh. */
export const hostKeys: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema
      .createTable('ssh_host_keys')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('host', 'text', (column) => column.notNull())
      .addColumn('host_key', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addUniqueConstraint('ssh_host_keys_by_host', ['tenant_id', 'host'])
      .execute()
  },
}
