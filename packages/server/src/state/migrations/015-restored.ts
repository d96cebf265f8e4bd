import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Sandboxes that were made of a snapshot say whether its processes go on in them. */
export const restored: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema.alterTable('sandboxes').addColumn('restored', 'text').execute()
  },
}
