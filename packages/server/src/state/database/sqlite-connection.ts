import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import type { SqliteDatabase, SqliteStatement } from 'kysely'
import { SqliteCheckpoints } from './sqlite-checkpoints.ts'

/** Enough for every query of the repositories in all their forms; the least recently used goes first. */
const CACHED_STATEMENTS = 256

/**
 * How long a statement waits for another process that writes. This wait blocks the whole process, since SQLite is called
 * synchronously, so it only bridges a short commit: longer waits are `retryBusy`'s.
 */
const BUSY_TIMEOUT_MS = 5

/**
 * WAL with `synchronous = NORMAL`: a commit is in the page cache of the kernel when it returns, so it survives the death of this
 * process at any instant (kill -9 included). Only a crash of the kernel or of the power can take the last commits away, never
 * corrupt the file; such a crash ends all sandboxes too, and reconciliation compares both sides afterwards. `FULL` would put
 * an fsync into each of the several commits of a create.
 */
const PRAGMAS = [
  'journal_mode = wal',
  'synchronous = normal',
  'foreign_keys = on',
  'temp_store = memory',
  // Pages: `SqliteCheckpoints` comes long before, and this is for when it cannot keep up.
  'wal_autocheckpoint = 16384',
  // Keeps the WAL from staying large after a burst.
  'journal_size_limit = 67108864',
] as const

/** `node:sqlite` in the shape that kysely's dialect wants, with prepared statements kept: preparing costs more than running. */
export class SqliteConnection implements SqliteDatabase {
  readonly #database: DatabaseSync
  readonly #checkpoints: SqliteCheckpoints
  readonly #statements = new Map<string, CachedStatement>()

  /** `onError` is told what keeps the journal from being brought into the database. */
  constructor(path: string, onError: (error: Error) => void) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: true })
    try {
      for (const pragma of PRAGMAS) this.#database.exec(`pragma ${pragma}`)
    } catch (error) {
      this.#database.close()
      throw error
    }
    this.#checkpoints = new SqliteCheckpoints(path, onError)
  }

  prepare(sql: string): SqliteStatement {
    const known = this.#statements.get(sql)
    if (known !== undefined) {
      this.#statements.delete(sql)
      this.#statements.set(sql, known)
      return known
    }
    const statement = new CachedStatement(this.#database.prepare(sql))
    this.#statements.set(sql, statement)
    if (this.#statements.size > CACHED_STATEMENTS) {
      const [oldest] = this.#statements.keys()
      if (oldest !== undefined) this.#statements.delete(oldest)
    }
    return statement
  }

  close(): void {
    this.#checkpoints.stop()
    this.#statements.clear()
    this.#database.close()
  }
}

class CachedStatement implements SqliteStatement {
  readonly reader: boolean
  readonly #statement: StatementSync

  constructor(statement: StatementSync) {
    this.#statement = statement
    this.reader = statement.columns().length > 0
  }

  all(parameters: readonly unknown[]): unknown[] {
    return this.#statement.all(...(parameters as SQLInputValue[]))
  }

  run(parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint } {
    return this.#statement.run(...(parameters as SQLInputValue[]))
  }

  iterate(parameters: readonly unknown[]): IterableIterator<unknown> {
    return this.#statement.iterate(...(parameters as SQLInputValue[]))
  }
}
