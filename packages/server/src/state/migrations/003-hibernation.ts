import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Sandboxes that are hibernated say whether their processes are. */
export const hibernation: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema.alterTable('sandboxes').addColumn('hibernation', 'text').execute()
  },
}
