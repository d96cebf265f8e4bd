import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Snapshots have names and a state, and sandboxes say what they were made of. */
export const snapshots: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema.alterTable('sandboxes').addColumn('origin_id', 'text').execute()
    await schema.createIndex('sandboxes_by_origin_id').on('sandboxes').column('origin_id').execute()
    await schema.alterTable('snapshots').addColumn('name', 'text').execute()
    await schema
      .alterTable('snapshots')
      .addColumn('state', 'text', (column) => column.notNull().defaultTo('ready'))
      .execute()
    await schema.alterTable('snapshots').addColumn('host_id', 'text').execute()
    // Those without a name do not collide, on either database.
    const named = schema.createIndex('snapshots_by_tenant_id_name').on('snapshots').columns(['tenant_id', 'name'])
    await named.unique().execute()
    await schema.createIndex('snapshots_by_host_id_state').on('snapshots').columns(['host_id', 'state']).execute()
  },
}
