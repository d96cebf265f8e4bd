import type { AbortableOperationOptions, CompiledQuery, DatabaseConnection, Driver } from 'kysely'
import { HearthError } from '@hearth/contract'

/** Turns what a database refuses for a while into errors that a caller can act on. All else passes as it is. */
export function withTypedErrors(driver: Driver): Driver {
  const wrapped = new WeakSet<DatabaseConnection>()
  const acquire = driver.acquireConnection.bind(driver)
  driver.acquireConnection = async (options) => {
    const connection = await acquire(options).catch(rethrowTyped)
    if (!wrapped.has(connection)) {
      wrapped.add(connection)
      const execute: DatabaseConnection['executeQuery'] = connection.executeQuery.bind(connection)
      connection.executeQuery = <R>(query: CompiledQuery, queryOptions?: AbortableOperationOptions) =>
        execute<R>(query, queryOptions).catch(rethrowTyped)
    }
    return connection
  }
  return driver
}

function rethrowTyped(error: unknown): never {
  throw typedError(error)
}

/** SQLite: 5 busy, 6 locked, 10 input/output error, 13 full, 14 cannot open. */
const SQLITE_UNAVAILABLE = new Set([5, 6, 10, 13, 14])

/** Classes of SQLSTATE: connection, resources, operator intervention. */
const POSTGRES_UNAVAILABLE = new Set(['08', '53', '57'])

/** Serialization failure and deadlock: the transaction was undone and may be repeated. */
const POSTGRES_CONFLICT = new Set(['40001', '40P01'])

const SOCKET_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EACCES',
  'ENOTFOUND',
  'EAI_AGAIN',
])

export function typedError(error: unknown): unknown {
  if (!(error instanceof Error) || HearthError.isInstance(error)) return error
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const text = typeof code === 'string' ? code : ''
  if (POSTGRES_CONFLICT.has(text)) {
    return new HearthError('conflict', `the database undid a transaction: ${error.message}`, { cause: error })
  }
  const unavailable =
    (typeof errcode === 'number' && SQLITE_UNAVAILABLE.has(errcode & 0xff)) ||
    (text.length === 5 && POSTGRES_UNAVAILABLE.has(text.slice(0, 2))) ||
    SOCKET_ERRORS.has(text) ||
    /connection terminated|timeout exceeded when trying to connect/i.test(error.message)
  if (!unavailable) return error
  return new HearthError('store_unavailable', `the database does not answer: ${error.message}`, { cause: error })
}
