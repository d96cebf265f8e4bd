import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Volumes: what the engine's store holds of them, and whose each is. */
export const volumes: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema
      .createTable('volumes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('tenant_id', 'text', (column) => column.notNull().references('tenants.id'))
      .addColumn('host_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('name', 'text')
      .addColumn('lifetime', 'text', (column) => column.notNull())
      .addColumn('sandbox_id', 'text')
      .addColumn('workspace_id', 'text')
      .addColumn('disk_bytes', 'bigint', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute()
    // Those without a name do not collide, on either database.
    const named = schema.createIndex('volumes_by_tenant_id_name').on('volumes').columns(['tenant_id', 'name'])
    await named.unique().execute()
    await schema.createIndex('volumes_by_host_id_state').on('volumes').columns(['host_id', 'state']).execute()
    await schema.createIndex('volumes_by_sandbox_id').on('volumes').column('sandbox_id').execute()
  },
}
