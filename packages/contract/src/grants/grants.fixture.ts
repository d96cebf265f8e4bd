import fc from 'fast-check'
import type { Policy } from '../policy.ts'
import { RUNGS } from '../rungs.ts'
import { EVERYTHING, type Grant, type GrantRequest } from './grant.ts'

const subsetOf = <Value>(...values: Value[]): fc.Arbitrary<Value[]> => fc.subarray(values)
const anyOr = <Value>(list: fc.Arbitrary<Value[]>): fc.Arbitrary<'any' | Value[]> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant('any' as const) }, { weight: 4, arbitrary: list })

const anyRule = fc.record(
  {
    name: fc.constantFrom('a.test', 'b.test', 'c.b.test', '*.test', '*.b.test'),
    ports: fc.uniqueArray(fc.constantFrom(443, 80, 22), { minLength: 1, maxLength: 2 }),
    methods: fc.uniqueArray(fc.constantFrom('GET' as const, 'POST' as const), { minLength: 1 }),
    paths: fc.uniqueArray(fc.constantFrom('/', '/a', '/a/**', '/a*', '/*/b', '/a/b*', '/**'), { minLength: 1 }),
  },
  { requiredKeys: ['name'] },
)
const addressed = fc.record({
  name: fc.constantFrom('a.test', 'b.test'),
  addresses: fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '192.168.0.0/16'], { minLength: 1 }),
})

/** Policies over few names, so that they meet. */
export const anyPolicy: fc.Arbitrary<Policy> = fc.record(
  {
    mode: fc.constantFrom('enforce' as const, 'enforce' as const, 'audit' as const),
    allow: fc.array(fc.oneof({ weight: 4, arbitrary: anyRule }, { weight: 1, arbitrary: addressed }), { maxLength: 3 }),
    deny: fc.array(anyRule, { maxLength: 2 }),
    presets: subsetOf('npm' as const, 'github' as const),
    budgets: fc.record({ connections: fc.nat(3) }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
)

const orNone = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> => fc.option(value, { freq: 3 })
const anyBudget = fc.record({ steps: orNone(fc.nat(9)), tokens: orNone(fc.nat(9)), dollars: orNone(fc.nat(9)) })
const paths = anyOr(subsetOf('/workspace', '/workspace/src', '/workspace/src/a', '/etc', '/'))

export const anyGrant: fc.Arbitrary<Grant> = fc.record({
  policy: fc.oneof({ weight: 1, arbitrary: fc.constant('any' as const) }, { weight: 5, arbitrary: anyPolicy }),
  secrets: anyOr(subsetOf('A', 'B', 'C')),
  paths: fc.record({ read: paths, write: paths }),
  tools: anyOr(subsetOf('bash', 'read', 'delegate')),
  atLeast: fc.constantFrom(...RUNGS),
  templates: anyOr(subsetOf('host', 'debian')),
  budget: anyBudget.chain((budget) => orNone(fc.nat(9)).map((wallTimeMs) => ({ ...budget, wallTimeMs }))),
  deadline: orNone(fc.constantFrom('2031-01-01T00:00:00Z', '2031-01-01T01:00:00+01:00', '2032-01-01T00:00:00Z')),
  ttlMs: fc.integer({ min: 1000, max: 1009 }),
  depth: fc.nat(8),
  children: fc.nat(12),
  limits: fc.record({ cpus: fc.integer({ min: 1, max: 4 }), pids: fc.constantFrom(16, 32) }, { requiredKeys: [] }),
}) as fc.Arbitrary<Grant>

/** What somebody might ask for: any part of some grant. */
export const anyRequest: fc.Arbitrary<GrantRequest> = fc
  .tuple(anyGrant, fc.func(fc.boolean()))
  .map(([grant, keeps]) => Object.fromEntries(Object.entries(grant).filter(([name]) => keeps(name))) as GrantRequest)

const fields = fc.subarray(Object.keys(EVERYTHING) as (keyof Grant)[], { maxLength: 3 })

/** The same grant but for a few fields, which are of another: often a part of it, often not. */
export function likely(grant: Grant): fc.Arbitrary<Grant> {
  return fc.tuple(anyGrant, fields).map(([other, changed]) => {
    return { ...grant, ...Object.fromEntries(changed.map((field) => [field, other[field]])) }
  })
}
