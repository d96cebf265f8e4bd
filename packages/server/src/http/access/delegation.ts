import {
  attenuate,
  EVERYTHING,
  grantExceeded,
  HearthError,
  SCOPES,
  type Grant,
  type GrantRequest,
  type SandboxId,
  type Scope,
} from '@hearth/contract'
import type { Caller } from '../../control-plane.ts'
import type { ApiKey, DelegatedKey } from '../../state/index.ts'
import { effectiveScopes, requireWithin } from './scopes.ts'

/** What can be held to a grant. All else is the whole tenant's, or would outlive what made it. */
const DELEGABLE: ReadonlySet<Scope> = new Set(['sandbox:read', 'sandbox:write', 'exec', 'files', 'ports', 'keys'])

/** The parts of the API that a delegated key can call at all. A new one is not among them until somebody says so. */
const AREAS: ReadonlySet<string> = new Set([
  'sandbox',
  'policy',
  'record',
  'event',
  'exec',
  'process',
  'code',
  'files',
  'port',
  'key',
  'rung',
  'snapshot',
  'system',
])

/** Refuses what a grant does not speak of, by the name of the operation. */
export function requireArea(caller: Caller, operation: string): void {
  if (caller.holder === null || AREAS.has(operation.slice(0, operation.indexOf('.')))) return
  throw new HearthError('forbidden', `${operation} is not for a key that was delegated`, {
    suggestion: 'Use a key that was not delegated.',
  })
}

export interface Delegation {
  readonly name: string
  readonly grant: GrantRequest
  readonly scopes?: readonly Scope[] | undefined
  /** Null for none but the grant's own. */
  readonly expiresAt: number | null
  readonly sandboxId?: SandboxId
}

/** The key that somebody asks for, as a part of its maker's; `grant_exceeded` says what is more. */
export function planDelegation(maker: ApiKey, wanted: Delegation): DelegatedKey {
  const own = effectiveScopes(maker.scopes)
  const scopes = wanted.scopes ?? SCOPES.filter((scope) => own.has(scope) && DELEGABLE.has(scope))
  const beyond = [...effectiveScopes(scopes)].filter((scope) => !DELEGABLE.has(scope))
  if (beyond.length > 0)
    throw grantExceeded([{ field: 'scopes', asked: beyond.join(', '), allowed: [...DELEGABLE].join(', ') }])
  requireWithin(own, scopes, 'the new key')
  const attenuated = attenuate(maker.grant ?? EVERYTHING, wanted.grant)
  if (!attenuated.ok) throw grantExceeded(attenuated.exceeded)
  const expiresAt = earliest(wanted.expiresAt, maker.expiresAt, attenuated.grant.deadline)
  if (expiresAt !== null && expiresAt <= Date.now())
    throw new HearthError('invalid_request', 'grant.deadline: must be in the future')
  const deadline = expiresAt === null ? null : new Date(expiresAt).toISOString()
  const grant: Grant = { ...attenuated.grant, deadline }
  const { name, sandboxId } = wanted
  return { name, scopes, grant, expiresAt, ...(sandboxId === undefined ? {} : { sandboxId }) }
}

function earliest(one: number | null, other: number | null, deadline: string | null): number | null {
  const time = Math.min(one ?? Infinity, other ?? Infinity, deadline === null ? Infinity : Date.parse(deadline))
  return time === Infinity ? null : time
}
