import {
  BOUNDS,
  comparePolicies,
  DEFAULT_LIMITS,
  findLifetimeExcess,
  findSandboxExcess,
  grantExceeded,
  HearthError,
  latestEnd,
  type CreateSandbox,
  type Exceeded,
  type Grant,
  type Limits,
  type Policy,
} from '@hearth/contract'
import type { Caller, SandboxKey } from '../control-plane.ts'
import type { NewSandbox, SandboxRecord, StoredSpec } from '../state/index.ts'

/** Whether something is the caller's to see: of its tenant, and for a holder made under it. */
export function isVisible(caller: Caller, made: Pick<SandboxRecord, 'tenantId' | 'holder'>): boolean {
  if (made.tenantId !== caller.tenantId) return false
  return caller.holder === null || (made.holder?.startsWith(caller.holder.path) ?? false)
}

/** What is not said of a sandbox becomes as much of the grant as others get without saying. */
export function withinByDefault<Request extends CreateSandbox>(caller: Caller, request: Request, now: number): Request {
  if (caller.holder === null) return request
  const { grant } = caller.holder
  const ttlMs = Math.floor(latestEnd(grant, now) - now)
  const template = grant.templates === 'any' || grant.templates.includes('host') ? {} : { template: grant.templates[0] }
  return {
    ...template,
    ...(request.rung === undefined ? { atLeast: grant.atLeast } : {}),
    ...(request.persistent === true ? {} : { ttlMs: Math.max(1000, Math.min(BOUNDS.defaultTtlMs, ttlMs)) }),
    ...request,
    limits: { ...leastLimits(grant.limits), ...request.limits },
  }
}

function leastLimits(granted: Grant['limits']): Partial<Limits> {
  const named = Object.entries(granted) as [keyof Limits, number | undefined][]
  return Object.fromEntries(named.map(([name, most]) => [name, Math.min(most ?? Infinity, DEFAULT_LIMITS[name])]))
}

/**
 * A sandbox as it is to be, all of it. Called for everything that becomes one: what is made, and what is copied. `createdAt` is the instant that
 * its deadline was counted from.
 */
export function requireWithin(caller: Caller, row: NewSandbox, createdAt: number): void {
  if (caller.holder === null) return
  const { policy = {}, secrets = [] } = row.spec
  const { template, rung, limits, expiresAt } = row
  const wanted = { policy, secrets: secrets.map(({ secret }) => secret), template, rung, limits, createdAt, expiresAt }
  if ((row.spec.volumes ?? []).length > 0) requireUnlimited(caller, 'volumes')
  refuse(findSandboxExcess(wanted, caller.holder.grant))
}

export function requirePolicyWithin(caller: Caller, policy: Policy): void {
  if (caller.holder !== null) refuse(comparePolicies(policy, caller.holder.grant.policy))
}

export function requireLifetimeWithin(caller: Caller, createdAt: number, expiresAt: number): void {
  if (caller.holder !== null) refuse(findLifetimeExcess({ createdAt, expiresAt }, caller.holder.grant))
}

/** What would outlive the grant, or was made by others, is nothing that a grant can speak of. */
export function requireUnlimited(caller: Caller, what: string): void {
  if (caller.holder !== null) refuse([{ field: what, asked: 'some', allowed: 'none: they outlive a grant' }])
}

/** Who has no key of ours has nothing to give a part of: clients of other vendors' APIs. */
export function requireKey({ delegate }: StoredSpec, key: SandboxKey | null): void {
  if (delegate !== undefined && key === null)
    throw new HearthError('invalid_request', 'request.delegate: needs the native API')
}

/** Keys of requests are the holder's own: nobody is answered with what another has made. */
export function ownIdempotencyKey(caller: Caller, key: string | null): string | null {
  return key === null || caller.holder === null ? key : `${caller.keyId} ${key}`
}

function refuse(exceeded: readonly Exceeded[]): void {
  if (exceeded.length > 0) throw grantExceeded(exceeded)
}
