import type { InspectedConnection } from '../connection.ts'
import type { Headers } from './message.ts'
import { refuse } from './refusal.ts'

/** By which some servers take another method or path than the one of the request. */
const OVERRIDES = new Set([
  'x-http-method-override',
  'x-http-method',
  'x-method-override',
  'x-original-method',
  'x-forwarded-method',
  'x-original-url',
  'x-original-uri',
  'x-original-path',
  'x-rewrite-url',
  'x-forwarded-uri',
  'x-forwarded-path',
])

/** Refuses them where it matters what a request is: a rule or a secret that could be put in is for some methods or paths alone. */
export function checkOverrides(
  connection: InspectedConnection,
  method: string,
  target: string,
  headers: Headers,
): void {
  // Gateways of the kind of CGI do not tell `_` from `-`.
  const found = headers.find(([name]) => OVERRIDES.has(name.toLowerCase().replaceAll('_', '-')))
  if (found === undefined || !isLimited(connection, method, target)) return
  throw refuse(
    'malformed',
    `the header ${found[0]} may give the request another method or path than those that the policy allows`,
  )
}

function isLimited(
  { name, port, policy, secrets, secure }: InspectedConnection,
  method: string,
  target: string,
): boolean {
  const verdict = policy().connection(name, port)
  if (verdict.allowed && verdict.inspected) return true
  const usable = secure ? secrets.usableIn(name, method, target) : []
  return usable.some(
    ({ binding: { methods, paths, branches } }) =>
      methods !== undefined || paths !== undefined || branches !== undefined,
  )
}
