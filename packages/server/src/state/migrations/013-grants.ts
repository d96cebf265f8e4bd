import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Keys that carry a grant and end with who made them, and sandboxes that know under which of them they were made. */
export const grants: Migration = {
  async up(database: Kysely<unknown>) {
    const { schema } = database
    await schema.alterTable('api_keys').addColumn('granted', 'text').execute()
    await schema.alterTable('api_keys').addColumn('path', 'text').execute()
    await schema.alterTable('api_keys').addColumn('sandbox_id', 'text').execute()
    await schema.createIndex('api_keys_by_sandbox_id').on('api_keys').column('sandbox_id').execute()
    await schema.alterTable('sandboxes').addColumn('holder', 'text').execute()
    await schema.createIndex('sandboxes_by_holder').on('sandboxes').columns(['tenant_id', 'holder']).execute()
  },
}
