import { HearthError, type Scope } from '@hearth/contract'
import type { Database } from '../database/database.ts'
import type { ApiKey } from './api-keys.ts'

/** Keys that work and were not delegated: all, or those with this very scope. */
export function workingKeys({ query }: Database, now: number, scope: Scope | null) {
  const working = query
    .selectFrom('api_keys')
    .where('path', 'is', null)
    .where('revoked_at', 'is', null)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', now)]))
  // Scopes are a JSON list of words.
  return scope === null ? working : working.where('scopes', 'like', `%"${scope}"%`)
}

/**
 * Refuses to end the last key of an operator: without any, nobody could manage tenants, or make another such key, before the server
 * starts again. Only inside a transaction.
 */
export async function requireOtherOperator(database: Database, now: number, { id, scopes }: ApiKey): Promise<void> {
  if (!scopes.includes('operator')) return
  const working = workingKeys(database, now, 'operator').select('id').orderBy('id')
  // Operators may be of several tenants, so that no lock of a tenant keeps two revocations apart.
  const rows = await (database.dialect === 'postgres' ? working.forUpdate() : working).execute()
  if (rows.length !== 1 || rows[0]?.id !== id) return
  throw new HearthError('invalid_state', `key ${id} is the last one that works and has the scope operator`, {
    context: { key: id },
    suggestion: 'Make another one first: `hearth key create NAME --scope admin --scope operator`.',
  })
}
