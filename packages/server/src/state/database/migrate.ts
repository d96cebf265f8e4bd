import type { Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { HearthError } from '@hearth/contract'
import { initial } from '../migrations/001-initial.ts'
import type { Tables } from './tables.ts'

/** Names sort in the order of execution. A migration that was released is never edited: a change is a new one. */
const MIGRATIONS: Readonly<Record<string, Migration>> = { '001-initial': initial }

/** Brings the schema up to date. Safe from several processes at once: one migrates, the others wait and find nothing to do. */
export async function migrate(query: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({ db: query, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  if (HearthError.isInstance(error)) throw error
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'the migrations'
  const reason = error instanceof Error ? error.message : JSON.stringify(error)
  throw new HearthError('internal', `${failed} failed: ${reason}`, {
    cause: error,
    suggestion: 'The database may be of a newer Hearth: use that version, or another database.',
  })
}
