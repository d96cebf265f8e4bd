import { HearthError, SCOPES, type Scope } from '@hearth/contract'

const OF_A_TENANT: readonly Scope[] = SCOPES.filter((scope) => scope !== 'operator')

/** What a key may do, with everything that its scopes include. */
export function effectiveScopes(granted: readonly Scope[]): ReadonlySet<Scope> {
  if (granted.includes('operator')) return new Set(SCOPES)
  return new Set(granted.includes('admin') ? OF_A_TENANT : granted)
}

export function requireScope(scopes: ReadonlySet<Scope>, scope: Scope): void {
  if (scopes.has(scope)) return
  throw new HearthError('forbidden', `this needs a key with the scope ${scope}`, { context: { scope } })
}

/** A key is never given, and never made to end, by one that may do less. */
export function requireWithin(scopes: ReadonlySet<Scope>, wanted: readonly Scope[], what: string): void {
  const missing = [...effectiveScopes(wanted)].filter((scope) => !scopes.has(scope))
  if (missing.length === 0) return
  throw new HearthError('forbidden', `${what} has scopes that this key does not have: ${missing.join(', ')}`, {
    context: { scopes: missing },
  })
}
