import type { Route } from './call.ts'
import { unsupported } from '../failures.ts'

/** What E2B has and Hearth has not: each answers with its name. */
const FEATURES: readonly (readonly [RegExp, string])[] = [
  [/^\/secrets(\/|$)/, 'secrets of E2B; `hearth secret` has them with a binding'],
  [/^\/(v[23]\/)?templates(\/|$)/, 'this call of template builds; the SDKs since 2.0 have another'],
  [/^\/(teams|api-keys|access-tokens|nodes|admin)(\/|$)/, 'teams and their keys; `hearth key` makes keys'],
]

/** A route for a path that is known but does nothing here; null for one that nobody knows. */
export function unsupportedRoute(method: string, path: string): Route | null {
  const feature = FEATURES.find(([pattern]) => pattern.test(path))?.[1]
  if (feature === undefined) return null
  return {
    method,
    path,
    name: 'e2b.unsupported',
    scope: null,
    handle: () => Promise.reject(unsupported(feature)),
  }
}
