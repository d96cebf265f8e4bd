import { HearthError } from '@hearth/contract'

/** SQLite: busy and locked. The statement did nothing and may be repeated. */
const SQLITE_BUSY = new Set([5, 6])

/** SQLite: input/output error, full, cannot open. */
const SQLITE_UNAVAILABLE = new Set([10, 13, 14])

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

/** True when another process has the database of SQLite. */
export function isBusy(error: unknown): boolean {
  const { errcode } = error as { errcode?: unknown }
  return typeof errcode === 'number' && SQLITE_BUSY.has(errcode & 0xff)
}

/** What a database refuses for a while becomes an error that a caller can act on. All else passes as it is. */
export function rethrowTyped(error: unknown): never {
  throw typedError(error)
}

function typedError(error: unknown): unknown {
  if (!(error instanceof Error) || HearthError.isInstance(error)) return error
  const { code, errcode } = error as { code?: unknown; errcode?: unknown }
  const text = typeof code === 'string' ? code : ''
  if (POSTGRES_CONFLICT.has(text)) {
    return new HearthError('conflict', `the database undid a transaction: ${error.message}`, { cause: error })
  }
  const unavailable =
    isBusy(error) ||
    (typeof errcode === 'number' && SQLITE_UNAVAILABLE.has(errcode & 0xff)) ||
    (text.length === 5 && POSTGRES_UNAVAILABLE.has(text.slice(0, 2))) ||
    SOCKET_ERRORS.has(text) ||
    /connection terminated|connection error and is not queryable|timeout exceeded when trying to connect/i.test(
      error.message,
    )
  if (!unavailable) return error
  return new HearthError('store_unavailable', `the database does not answer: ${error.message}`, { cause: error })
}
