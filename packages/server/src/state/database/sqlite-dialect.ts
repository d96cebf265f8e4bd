import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import {
  CompiledQuery,
  SqliteAdapter,
  SqliteDialect,
  SqliteDriver,
  type DatabaseConnection,
  type DialectAdapter,
  type Driver,
} from 'kysely'
import { SqliteConnection } from './sqlite-connection.ts'
import { aroundQueries } from './around-queries.ts'
import { retryBusy } from './retry-busy.ts'
import { rethrowTyped } from './typed-errors.ts'

/** SQLite in a file that only its owner may read: it holds the hashes of keys. */
export function sqliteDialect(path: string, onError: (error: Error) => void): SqliteDialect {
  return new ImmediateDialect({
    database: async () => {
      mkdirSync(dirname(path), { recursive: true })
      // Made by us first, since SQLite gives the journal files the mode of the database.
      closeSync(openSync(path, 'a', 0o600))
      return await retryBusy(async () => new SqliteConnection(path, onError)).catch(rethrowTyped)
    },
  })
}

class ImmediateDialect extends SqliteDialect {
  readonly #config: ConstructorParameters<typeof SqliteDialect>[0]

  constructor(config: ConstructorParameters<typeof SqliteDialect>[0]) {
    super(config)
    this.#config = config
  }

  override createDriver(): Driver {
    return aroundQueries(new ImmediateDriver(this.#config), (run) => retryBusy(run).catch(rethrowTyped))
  }

  override createAdapter(): DialectAdapter {
    return new TransactionalAdapter()
  }
}

class ImmediateDriver extends SqliteDriver {
  /**
   * A deferred transaction that reads and then writes fails at once when another process wrote in between, whatever the busy
   * timeout is. An immediate one waits for its turn at the start.
   */
  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('begin immediate'))
  }
}

class TransactionalAdapter extends SqliteAdapter {
  /** True of SQLite, and it makes the migrator run in one immediate transaction, which is its lock against other processes. */
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}
