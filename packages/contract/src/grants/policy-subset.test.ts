import { describe, expect, it } from 'vitest'
import type { Policy } from '../policy.ts'
import { findPolicyExcess } from './policy-subset.ts'
import { Undecided } from './work.ts'

const within: readonly (readonly [child: Policy, parent: Policy, why: string])[] = [
  [{}, {}, 'nothing is a part of nothing'],
  [{ allow: ['x.a.test'] }, { allow: ['*.a.test'] }, 'a name below a suffix'],
  [{ allow: ['*.b.a.test'] }, { allow: ['*.a.test'] }, 'a longer suffix'],
  [{ allow: ['a.test:443'] }, { allow: ['a.test'] }, 'one of the usual ports'],
  [{ presets: ['npm'] }, { allow: ['registry.npmjs.org'] }, 'a preset is its names'],
  [{ allow: [{ name: 'a.test', methods: ['GET'] }] }, { allow: ['a.test'] }, 'one method of all'],
  [
    { allow: [{ name: 'a.test', paths: ['/v1/x/*', '/v1/y'] }] },
    { allow: [{ name: 'a.test', paths: ['/v1/**'] }] },
    'narrower paths',
  ],
  [
    { allow: [{ name: 'a.test', methods: ['GET', 'POST'], paths: ['/x'] }] },
    {
      allow: [
        { name: 'a.test', methods: ['GET'], paths: ['/x'] },
        { name: 'a.test', methods: ['POST'], paths: ['/*'] },
      ],
    },
    'two rules of the parent together',
  ],
  [
    { allow: [{ name: 'a.test', paths: ['/a*'] }], deny: [{ name: 'a.test', paths: ['/ab*'] }] },
    { allow: [{ name: 'a.test', paths: ['/a*'] }], deny: [{ name: 'a.test', paths: ['/abc'] }] },
    'it denies more',
  ],
  [{ allow: ['a.test'] }, { mode: 'audit' }, 'an audit allows what is public'],
  [
    { allow: [{ name: 'a.test', addresses: ['10.1.2.0/24'] }] },
    { allow: [{ name: 'a.test', addresses: ['10.1.0.0/16'] }] },
    'a smaller network',
  ],
  [{ allow: ['a.test'], deny: ['a.test'] }, {}, 'what it allows it denies'],
  [
    { mode: 'audit', allow: [{ name: 'a.test', ports: [80, 443], paths: ['/a'] }], deny: ['a.test'] },
    { mode: 'audit', deny: ['a.test'] },
    'a name that an audit denies is denied at all ports',
  ],
]

const beyond: readonly (readonly [child: Policy, parent: Policy, excess: string])[] = [
  [{ allow: ['a.test'] }, {}, 'a.test:443'],
  [{ allow: ['a.test'] }, { allow: ['*.a.test'] }, 'a.test:443'],
  [{ allow: ['*.a.test'] }, { allow: ['x.a.test'] }, 'any.a.test:443'],
  [{ allow: ['a.test:22'] }, { allow: ['a.test'] }, 'a.test:22'],
  [{ allow: ['a.test'] }, { allow: ['a.test'], deny: ['a.test:80'] }, 'a.test:80'],
  [{ allow: ['*.test'] }, { allow: ['*.test'], deny: ['b.test'] }, 'b.test:443'],
  [
    { allow: ['a.test'] },
    { allow: [{ name: 'a.test', methods: ['GET'] }] },
    'a.test:443 with every method and path, and other protocols',
  ],
  [
    { allow: [{ name: 'a.test', methods: ['GET'] }] },
    { allow: [{ name: 'a.test', methods: ['GET'], paths: ['/**'] }] },
    'a.test:443 GET with every path',
  ],
  [
    { allow: [{ name: 'a.test', paths: ['/v1/**'] }] },
    { allow: [{ name: 'a.test', paths: ['/v1/*'] }] },
    'a.test:443 GET /v1//',
  ],
  [
    { allow: [{ name: 'a.test', paths: ['/a*'] }] },
    { allow: [{ name: 'a.test', paths: ['/a*'] }], deny: [{ name: 'a.test', methods: ['POST'], paths: ['/*c'] }] },
    'a.test:443 POST /ac',
  ],
  [{ mode: 'audit' }, { allow: ['*.test'] }, 'mode audit'],
  [{ mode: 'audit' }, { mode: 'audit', deny: ['a.test'] }, 'a.test:443'],
  [{ allow: ['a.test:22'] }, { mode: 'audit', deny: ['a.test'] }, 'a.test:22'],
  [{ allow: ['a.test'] }, { allow: ['a.test'], budgets: { connections: 5 } }, 'any number of connections'],
  [
    { allow: [{ name: 'a.test', addresses: ['10.0.0.0/8'] }] },
    { allow: [{ name: 'a.test', addresses: ['10.1.0.0/16'] }] },
    'a.test:443 at 10.0.0.0/8',
  ],
  [
    { mode: 'audit', allow: [{ name: 'a.test', addresses: ['::1/128'] }] },
    { mode: 'audit', allow: [{ name: 'a.test', addresses: ['fc00::/7', '0.0.0.0/0'] }] },
    'a.test:443 at ::1/128',
  ],
]

describe('policies are compared by what they mean', () => {
  it.each(within)('%j is within %j: %s', (child, parent) => {
    expect(findPolicyExcess(child, parent)).toBeNull()
  })

  it.each(beyond)('%j is not within %j: %s', (child, parent, excess) => {
    expect(findPolicyExcess(child, parent)).toBe(excess)
  })

  it('is quick for many names, and gives up on what is made to be hard', () => {
    const allow = Array.from({ length: 1000 }, (_, index) => `host-${index}.example.com`)
    const startedAt = performance.now()
    expect(findPolicyExcess({ allow: allow.slice(1) }, { allow })).toBeNull()
    // Whether a path has an `a` so many places before its end: an automaton for that has a state for each of 2^n histories.
    const hard = (last: string): Policy => ({
      allow: [
        { name: 'a.test', paths: Array.from({ length: 200 }, (_, index) => `/*a${'*a'.repeat(index % 40)}${last}`) },
      ],
    })
    const deny = [{ name: 'a.test', paths: Array.from({ length: 200 }, (_, n) => `/*${'b*a'.repeat(n % 60)}b*`) }]
    expect(() => findPolicyExcess({ ...hard('*b'), deny }, { ...hard('*c'), deny: hard('*d*b*').allow ?? [] })).toThrow(
      Undecided,
    )
    expect(performance.now() - startedAt).toBeLessThan(5000)
  })
})
