import fc from 'fast-check'
import { expect, it } from 'vitest'
import { DEFAULT_LIMITS } from '../limits.ts'
import { RUNGS } from '../rungs.ts'
import { attenuate } from './attenuate.ts'
import { anyGrant, anyPolicy, anyRequest } from './grants.fixture.ts'
import type { Grant } from './grant.ts'
import { findSandboxExcess, latestEnd, type WantedSandbox } from './sandbox-within.ts'

const createdAt = Date.parse('2030-12-31T23:59:59.500Z')

/** Sandboxes around the edges of the grants of the fixture. */
const anySandbox: fc.Arbitrary<WantedSandbox> = fc.record({
  policy: fc.oneof(fc.constant({}), anyPolicy),
  secrets: fc.subarray(['A', 'B', 'C']),
  template: fc.constantFrom('host', 'debian', 'other'),
  rung: fc.constantFrom(...RUNGS),
  limits: fc
    .record({ cpus: fc.integer({ min: 1, max: 4 }), pids: fc.constantFrom(16, 32, 64) })
    .map((limits) => ({ ...DEFAULT_LIMITS, ...limits })),
  createdAt: fc.constant(createdAt),
  expiresAt: fc.option(fc.integer({ min: createdAt + 400, max: createdAt + 1010 }), { freq: 9 }),
})

/** A sandbox that a grant is likely to allow: as much of it as can be. */
const likelySandbox = (grant: Grant): fc.Arbitrary<WantedSandbox> =>
  anySandbox.map((wanted) => ({
    ...wanted,
    policy: grant.policy === 'any' ? wanted.policy : grant.policy,
    secrets: grant.secrets === 'any' ? wanted.secrets : grant.secrets,
    rung: grant.atLeast,
    limits: { ...wanted.limits, ...(grant.limits as Partial<typeof wanted.limits>) },
    expiresAt: latestEnd(grant, createdAt),
  }))

it('allows no sandbox under a part of a grant that the grant itself does not', () => {
  let allowed = 0
  const anyCase = fc
    .tuple(anyGrant, anyRequest)
    .map(([parent, request]) => ({ parent, result: attenuate({ ...parent, depth: 8 }, request) }))
    .chain(({ parent, result }) =>
      (result.ok ? fc.oneof(anySandbox, likelySandbox(result.grant)) : anySandbox).map((wanted) => ({
        parent,
        child: result.ok ? result.grant : null,
        wanted,
      })),
    )
  fc.assert(
    fc.property(anyCase, ({ parent, child, wanted }) => {
      if (child === null || findSandboxExcess(wanted, child).length > 0) return
      allowed++
      expect(findSandboxExcess(wanted, parent)).toEqual([])
    }),
    { numRuns: 4000 },
  )
  expect(allowed).toBeGreaterThan(20)
})
