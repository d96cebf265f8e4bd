import { PostgresDialect, PostgresDriver, type Driver, type PostgresDialectConfig } from 'kysely'
import { Pool, TypeOverrides, types } from 'pg'
import { aroundQueries } from './around-queries.ts'
import { rethrowTyped } from './typed-errors.ts'

const CONNECT_TIMEOUT_MS = 10_000
const POOL_SIZE = 10

export interface PostgresOptions {
  readonly url: string
  /** Told when a connection that nobody uses breaks. The pool replaces it by itself. */
  readonly onIdleError?: (error: Error) => void
}

export function postgresDialect(options: PostgresOptions): PostgresDialect {
  return new TypedErrorsDialect({ pool: async () => openPool(options) })
}

function openPool(options: PostgresOptions): Pool {
  const pool = new Pool({
    connectionString: options.url,
    max: POOL_SIZE,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    types: numberTypes(),
    application_name: 'hearth',
  })
  // Without a listener the break of an idle connection would end the process; the next query meets the fault and tells it.
  pool.on('error', (error) => options.onIdleError?.(error))
  // The same for one that is in use, between two queries of a transaction: the next of them fails.
  pool.on('connect', (client) => client.on('error', () => undefined))
  return pool
}

/** `bigint` and `numeric` (what `sum` of a bigint gives) as numbers: times, sizes and counts all fit, and a value that does not is an error. */
function numberTypes(): TypeOverrides {
  const overrides = new TypeOverrides()
  overrides.setTypeParser(types.builtins.INT8, exactNumber)
  overrides.setTypeParser(types.builtins.NUMERIC, exactNumber)
  return overrides
}

function exactNumber(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`${text} is too large for a number`)
  return value
}

class TypedErrorsDialect extends PostgresDialect {
  readonly #config: PostgresDialectConfig

  constructor(config: PostgresDialectConfig) {
    super(config)
    this.#config = config
  }

  override createDriver(): Driver {
    return aroundQueries(new PostgresDriver(this.#config), (run) => run().catch(rethrowTyped))
  }
}
