import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'

/** What dialects must know of a sandbox after a restart, and the engine does not: tags of processes, names of contexts. Notes go with their sandbox. */
export const sandboxNotes: Migration = {
  async up(database: Kysely<unknown>) {
    await database.schema
      .createTable('sandbox_notes')
      .addColumn('sandbox_id', 'text', (column) => column.notNull().references('sandboxes.id').onDelete('cascade'))
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('key', 'text', (column) => column.notNull())
      .addColumn('value', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('sandbox_notes_pk', ['sandbox_id', 'kind', 'key'])
      .execute()
  },
}
