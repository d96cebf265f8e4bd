import type { Limits } from '../limits.ts'
import type { Policy } from '../policy.ts'
import { isAtLeast, type Rung } from '../rungs.ts'
import { compareLists, compareNumbers, comparePolicies, timeOf } from './compare.ts'
import type { Exceeded, Grant } from './grant.ts'

/** A sandbox as it is to be. Times are milliseconds since 1970. */
export interface WantedSandbox {
  readonly policy: Policy
  readonly secrets: readonly string[]
  readonly template: string
  readonly rung: Rung
  readonly limits: Limits
  readonly createdAt: number
  /** Null for one without a deadline. */
  readonly expiresAt: number | null
}

/** What about a sandbox is more than a grant allows. */
export function findSandboxExcess(wanted: WantedSandbox, grant: Grant): readonly Exceeded[] {
  return [
    ...comparePolicies(wanted.policy, grant.policy),
    ...compareLists('secrets', wanted.secrets, grant.secrets),
    ...compareLists('templates', [wanted.template], grant.templates),
    ...(isAtLeast(wanted.rung, grant.atLeast)
      ? []
      : [{ field: 'atLeast', asked: wanted.rung, allowed: `${grant.atLeast} or stronger` }]),
    ...Object.entries(wanted.limits).flatMap(([name, value]) =>
      compareNumbers(`limits.${name}`, value, grant.limits[name as keyof Limits]),
    ),
    ...findLifetimeExcess(wanted, grant),
  ]
}

/** The last instant that a sandbox may live to. */
export function latestEnd(grant: Pick<Grant, 'ttlMs' | 'deadline'>, createdAt: number): number {
  return Math.min(createdAt + grant.ttlMs, timeOf(grant.deadline))
}

/** What about the deadline of a sandbox is more than a grant allows. */
export function findLifetimeExcess(
  { createdAt, expiresAt }: Pick<WantedSandbox, 'createdAt' | 'expiresAt'>,
  grant: Pick<Grant, 'ttlMs' | 'deadline'>,
): readonly Exceeded[] {
  const end = expiresAt ?? Infinity
  const asked = expiresAt === null ? 'no deadline' : new Date(expiresAt).toISOString()
  return [
    ...(end - createdAt <= grant.ttlMs
      ? []
      : [{ field: 'ttlMs', asked, allowed: `${grant.ttlMs} ms from its beginning` }]),
    ...(end <= timeOf(grant.deadline) ? [] : [{ field: 'deadline', asked, allowed: grant.deadline ?? 'none' }]),
  ]
}
