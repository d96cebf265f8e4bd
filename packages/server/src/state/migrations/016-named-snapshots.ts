import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Snapshots that a client of another vendor took under a name have rows beside the builds, so that names and tags lead to both in one way. */
export const namedSnapshots: Migration = {
  async up(database: Kysely<unknown>) {
    const table = database.schema.alterTable('template_builds')
    await table.addColumn('adopted', 'integer', (column) => column.notNull().defaultTo(0)).execute()
  },
}
