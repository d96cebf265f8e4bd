import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { attenuate } from './attenuate.ts'
import { findExcess, isSubset } from './compare.ts'
import { anyGrant, anyRequest, likely } from './grants.fixture.ts'
import { EVERYTHING, grantRequestSchema, grantSchema, type Grant } from './grant.ts'

const anyPair = anyGrant.chain((more) => likely(more).map((less) => [more, less] as const))

const anyChain = anyPair.chain(([most, middle]) => likely(middle).map((least) => [most, middle, least] as const))

const runs = { numRuns: 2000 }

describe('attenuate, for any grants and requests', () => {
  it('gives a part of the parent in every field, one level lower, or says what is too much', () => {
    let given = 0
    fc.assert(
      fc.property(anyGrant, anyRequest, (parent, request) => {
        const result = attenuate(parent, request)
        if (!result.ok) {
          expect(result.exceeded.length).toBeGreaterThan(0)
          for (const { field, asked, allowed } of result.exceeded) expect([field, asked, allowed]).not.toContain('')
          return
        }
        given++
        expect(grantSchema.safeParse(result.grant).error).toBeUndefined()
        expect(findExcess(result.grant, parent)).toEqual([])
        expect(result.grant.depth).toBeLessThan(parent.depth)
      }),
      runs,
    )
    expect(given).toBeGreaterThan(20)
  })

  it('gives the same when the result is asked for again', () => {
    fc.assert(
      fc.property(anyGrant, anyRequest, (parent, request) => {
        const once = attenuate(parent, request)
        if (once.ok) expect(attenuate(parent, once.grant)).toEqual(once)
      }),
      runs,
    )
  })

  it('gives no less to whoever has more', () => {
    fc.assert(
      fc.property(anyPair, anyRequest, ([more, less], request) => {
        if (!isSubset(less, more)) return
        const [little, much] = [attenuate(less, request), attenuate(more, request)]
        if (!little.ok) return
        expect(much.ok).toBe(true)
        if (much.ok) expect(findExcess(little.grant, much.grant)).toEqual([])
      }),
      runs,
    )
  })

  it('stays a part of the first however often it is passed on', () => {
    fc.assert(
      fc.property(anyGrant, fc.array(anyRequest, { minLength: 1, maxLength: 6 }), (first, requests) => {
        let holder = first
        for (const request of requests) {
          const next = attenuate(holder, request)
          if (!next.ok) continue
          holder = next.grant
          expect(findExcess(holder, first)).toEqual([])
        }
      }),
      runs,
    )
  })
})

describe('being a part of another grant', () => {
  it('holds for itself, for everything, and through what lies between', () => {
    let chains = 0
    fc.assert(
      fc.property(anyChain, ([most, middle, least]) => {
        expect(isSubset(most, most) && isSubset(most, EVERYTHING)).toBe(true)
        if (!isSubset(middle, most) || !isSubset(least, middle)) return
        chains++
        expect(findExcess(least, most)).toEqual([])
      }),
      runs,
    )
    expect(chains).toBeGreaterThan(200)
  })
})

describe('a request', () => {
  it('that asks for nothing gets no names, no secrets and no further level', () => {
    const result = attenuate(EVERYTHING, {})
    expect(result.ok && [result.grant.policy, result.grant.secrets, result.grant.depth, result.grant.children]).toEqual(
      [{}, [], 0, 8],
    )
  })

  it('is told each field that is too much, and what would be possible', () => {
    const parent: Grant = {
      ...EVERYTHING,
      policy: { allow: ['api.example.com'] },
      secrets: ['TOKEN'],
      paths: { read: ['/workspace'], write: ['/workspace/src'] },
      tools: ['bash'],
      atLeast: 'gvisor',
      templates: ['debian'],
      budget: { steps: 5, tokens: 100, dollars: 1, wallTimeMs: 60_000 },
      deadline: '2031-01-01T00:00:00Z',
      ttlMs: 60_000,
      depth: 1,
      children: 2,
      limits: { memoryBytes: 64 * 1024 ** 2 },
    }
    const result = attenuate(parent, {
      policy: { allow: ['api.example.com', 'evil.example.com'] },
      secrets: ['TOKEN', 'OTHER'],
      paths: { read: ['/workspace/../etc'.replace('/..', '')], write: ['/workspace'] },
      tools: ['bash', 'delegate'],
      atLeast: 'process',
      templates: ['host'],
      budget: { steps: 6, tokens: null, dollars: 2, wallTimeMs: 60_001 },
      deadline: null,
      ttlMs: 60_001,
      depth: 1,
      children: 3,
      limits: { memoryBytes: 128 * 1024 ** 2 },
    })
    expect(result.ok).toBe(false)
    if (result.ok) return
    expect(result.exceeded.map(({ field }) => field)).toEqual([
      'policy',
      'secrets',
      'paths.write',
      'tools',
      'atLeast',
      'templates',
      'budget.steps',
      'budget.tokens',
      'budget.dollars',
      'budget.wallTimeMs',
      'deadline',
      'ttlMs',
      'depth',
      'children',
      'limits.memoryBytes',
    ])
    expect(result.exceeded[0]).toMatchObject({ asked: 'evil.example.com:443', allowed: 'api.example.com' })
  })

  it.each(['/workspace/', '/a//b', '/a/../b', '/.', 'a', '/a\0b'])('cannot name the path %j', (path) => {
    expect(grantRequestSchema.safeParse({ paths: { read: [path] } }).success).toBe(false)
  })

  it('with a policy that cannot be is refused, whatever the parent has', () => {
    for (const parent of [EVERYTHING, { ...EVERYTHING, policy: {} }]) {
      expect(attenuate(parent, { policy: { allow: ['10.0.0.1'] } })).toMatchObject({ ok: false })
      expect(attenuate(parent, { policy: { allow: ['a.test:99999'] } })).toMatchObject({ ok: false })
    }
  })
})
