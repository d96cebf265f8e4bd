import { setImmediate } from 'node:timers/promises'
import type { DeleteResult, Kysely } from 'kysely'
import type { Tables } from './tables.ts'

export type DialectName = 'sqlite' | 'postgres'

/** Where a repository reads and writes: the store itself, or one transaction of it. */
export interface Database {
  readonly dialect: DialectName
  readonly query: Kysely<Tables>
}

/** What repositories take from outside, so that tests can hold time still. */
export interface Sources {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** A new identifier with this prefix; never one that was given before. */
  readonly newId: (prefix: string) => string
}

/** Runs the work in the transaction that is open already, or in one of its own. */
export async function atomically<T>(database: Database, work: (inside: Database) => Promise<T>): Promise<T> {
  if (database.query.isTransaction) return await work(database)
  return await database.query.transaction().execute((query) => work({ dialect: database.dialect, query }))
}

/** Rows that one statement removes: SQLite is called synchronously, and all other calls wait meanwhile. */
const BATCH = 100

/** Removes any number of rows, at most so many at a time, and answers how many there were. */
export async function inBatches(remove: (limit: number) => Promise<DeleteResult>): Promise<number> {
  let count = 0
  for (;;) {
    const removed = Number((await remove(BATCH)).numDeletedRows)
    count += removed
    if (removed < BATCH) return count
    await setImmediate()
  }
}
