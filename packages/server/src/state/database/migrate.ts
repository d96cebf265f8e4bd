import type { Kysely } from 'kysely'
import { Migrator, type Migration } from 'kysely/migration'
import { HearthError } from '@hearth/contract'
import { initial } from '../migrations/001-initial.ts'
import { snapshots } from '../migrations/002-snapshots.ts'
import { hibernation } from '../migrations/003-hibernation.ts'
import { egress } from '../migrations/004-egress.ts'
import { webhooks } from '../migrations/008-webhooks.ts'
import { templateBuilds } from '../migrations/009-template-builds.ts'
import { runs } from '../migrations/010-runs.ts'
import { volumes } from '../migrations/011-volumes.ts'
import { workspaces } from '../migrations/012-workspaces.ts'
import { grants } from '../migrations/013-grants.ts'
import { templates } from '../migrations/014-templates.ts'
import { restored } from '../migrations/015-restored.ts'
import { namedSnapshots } from '../migrations/016-named-snapshots.ts'
import { sandboxNotes } from '../migrations/017-sandbox-notes.ts'
import { hostKeys } from '../migrations/018-host-keys.ts'
import type { Tables } from './tables.ts'

/** Names sort in the order of execution. A migration that was released is never edited: a change is a new one. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-initial': initial,
  '002-snapshots': snapshots,
  '003-hibernation': hibernation,
  '004-egress': egress,
  '008-webhooks': webhooks,
  '009-template-builds': templateBuilds,
  '010-runs': runs,
  '011-volumes': volumes,
  '012-workspaces': workspaces,
  '013-grants': grants,
  '014-templates': templates,
  '015-restored': restored,
  '016-named-snapshots': namedSnapshots,
  '017-sandbox-notes': sandboxNotes,
  '018-host-keys': hostKeys,
}

/** Brings the schema up to date. Safe from several processes at once: one migrates, the others wait and find nothing to do. */
export async function migrate(query: Kysely<Tables>): Promise<void> {
  const migrator = new Migrator({ db: query, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } })
  const { error, results } = await migrator.migrateToLatest()
  if (error === undefined) return
  if (HearthError.isInstance(error)) throw error
  const reason = error instanceof Error ? error.message : JSON.stringify(error)
  const failed = results?.find((result) => result.status === 'Error')?.migrationName
  if (failed !== undefined)
    throw new HearthError('internal', `the migration ${failed} failed: ${reason}`, { cause: error })
  // Kysely's word for a database in which other migrations were executed than those that are known here.
  if (reason.startsWith('corrupted migrations')) {
    throw new HearthError('internal', `the database does not fit this version: ${reason}`, {
      cause: error,
      suggestion: 'The database is probably of a newer Hearth: use that version, or another database.',
    })
  }
  throw new HearthError('store_unavailable', `the database cannot be opened: ${reason}`, { cause: error })
}
