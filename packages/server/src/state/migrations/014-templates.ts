import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Templates are what the engine of a host has built: it knows them, and a table of them would have to be kept in agreement. */
export const templates: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema.dropTable('templates').execute()
  },
}
