import { join, resolve } from 'node:path'
import { Kysely, type Dialect } from 'kysely'
import { DEFAULT_QUOTAS, HearthError, newId, type Quotas } from '@hearth/contract'
import type { DialectName, Sources } from './database/database.ts'
import { migrate } from './database/migrate.ts'
import { postgresDialect } from './database/postgres-dialect.ts'
import { sqliteDialect } from './database/sqlite-dialect.ts'
import type { Tables } from './database/tables.ts'
import { databaseStore } from './database-store.ts'
import type { StoredEvent } from './events/event-record.ts'
import { PostgresListener } from './events/postgres-listener.ts'
import { WakeUps } from './events/wake-ups.ts'
import type { ServerKeys } from './keys.ts'
import { RunChanges } from './runs/run-changes.ts'
import type { Store } from './store.ts'

export interface OpenStoreOptions {
  /** `sqlite:PATH` or `postgres://USER:PASSWORD@HOST/NAME`. Default: `hearth.db` in `HEARTH_HOME`. */
  readonly url?: string
  /** Default: the clock of the system and random identifiers. */
  readonly sources?: Partial<Sources>
  /** What secrets are encrypted and the record is signed with. Without them there are no secrets, and the record is not signed. */
  readonly keys?: ServerKeys
  /** Of new tenants, where they are others than usual. */
  readonly quotas?: Partial<Quotas>
  /** Told of events that this store has written, after their commit. It must neither throw nor wait. */
  readonly onEvents?: (events: readonly StoredEvent[]) => void
  /** Told of connections that break while nobody uses them, which are made anew without it, and of a journal of SQLite that cannot be brought into its database. */
  readonly onConnectionError?: (error: Error) => void
}

/** Opens the durable state and brings its schema up to date. */
export async function openStore(options: OpenStoreOptions = {}): Promise<Store> {
  const url = options.url ?? (await defaultUrl())
  const wakeUps = new WakeUps()
  const runChanges = new RunChanges()
  const heard = (run: string): void => (run === '' ? wakeUps.wake() : runChanges.wake(run))
  const { name, dialect } = chooseDialect(url, options)
  const query = new Kysely<Tables>({ dialect })
  const listener =
    name === 'postgres' ? new PostgresListener({ url, onEvent: heard, ...onError(options.onConnectionError) }) : null
  try {
    await migrate(query)
    await listener?.start()
  } catch (error) {
    await query.destroy()
    throw error
  }
  const sources: Sources = { now: Date.now, newId, ...options.sources }
  const { keys = null, onEvents = () => undefined } = options
  const quotas = { ...DEFAULT_QUOTAS, ...options.quotas }
  return databaseStore({ dialect: name, query, sources, wakeUps, runChanges, listener, keys, quotas, onEvents })
}

/** The engine is loaded only for this: a tool that names its database starts without it. */
async function defaultUrl(): Promise<string> {
  const { hostPaths } = await import('@hearth/engine')
  return `sqlite:${join(hostPaths().home, 'hearth.db')}`
}

function chooseDialect(url: string, options: OpenStoreOptions): { name: DialectName; dialect: Dialect } {
  const sqlite = /^sqlite:(.+)$/s.exec(url)?.[1]
  if (sqlite !== undefined)
    return { name: 'sqlite', dialect: sqliteDialect(resolve(sqlite), options.onConnectionError ?? (() => undefined)) }
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { onConnectionError } = options
    const onIdleError = onConnectionError === undefined ? {} : { onIdleError: onConnectionError }
    return { name: 'postgres', dialect: postgresDialect({ url, ...onIdleError }) }
  }
  // The url is not repeated: it may hold a password.
  throw new HearthError('invalid_request', 'the url of the store must begin with sqlite: or postgres://')
}

function onError(report: OpenStoreOptions['onConnectionError']): { onError?: (error: Error) => void } {
  return report === undefined ? {} : { onError: report }
}
