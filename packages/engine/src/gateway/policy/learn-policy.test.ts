import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Policy, RecordEntry } from '@hearth/contract'
import type { InspectedConnection } from '../connection.ts'
import { recordRequest } from '../http/request-record.ts'
import { CompiledPolicy } from './compiled-policy.ts'
import { effectivePolicy, learnPolicy } from './index.ts'

interface Attempt {
  readonly name: string
  readonly port: number
  readonly method: string
  readonly path: string
}

type Event = { readonly type: string; readonly data: Record<string, unknown> }

const names = ['a.test', 'b.test', 'c.b.test'] as const
const paths = ['/', '/a', '/b', '/a/b', '/a/c', '/a%20b', '/a%21b', '/axb', '/a*', '/v1/x?y=1', '/a/../b'] as const
const anyPort = fc.constantFrom(443, 80, 22, 8080)
const anyAttempt: fc.Arbitrary<Attempt> = fc.record({
  name: fc.constantFrom(...names),
  port: anyPort,
  method: fc.constantFrom('GET', 'POST', 'HEAD', 'PROPFIND'),
  path: fc.constantFrom(...paths),
})
const anyRule = fc.record(
  {
    name: fc.constantFrom(...names, '*.test', '*.b.test'),
    ports: fc.uniqueArray(anyPort, { minLength: 1, maxLength: 2 }),
    methods: fc.uniqueArray(fc.constantFrom('GET' as const, 'POST' as const), { minLength: 1 }),
    paths: fc.uniqueArray(fc.constantFrom('/', '/a', '/a/**', '/a*'), { minLength: 1 }),
  },
  { requiredKeys: ['name'] },
)
const anyPolicy: fc.Arbitrary<Policy> = fc.record({
  mode: fc.constantFrom('enforce' as const, 'audit' as const),
  allow: fc.array(anyRule, { maxLength: 4 }),
  deny: fc.array(anyRule, { maxLength: 2 }),
})

/** What a gateway writes down of an attempt. */
function recorded(policy: CompiledPolicy, attempt: Attempt): { readonly event: Event; readonly allowed: boolean } {
  const { name, port, method, path } = attempt
  const connection = policy.connection(name, port)
  const refused = (verdict: { refusal: string; message: string }, more: object = {}): Event => ({
    type: 'network.refused',
    data: { process: 1, name, port, refusal: verdict.refusal, message: verdict.message, ...more },
  })
  if (!connection.allowed) return { event: refused(connection), allowed: false }
  if (!connection.inspected) {
    const bytes = { sentBytes: 1, receivedBytes: 1, durationMs: 1, failure: null }
    const data = { process: 1, name, port, named: connection.named, protocol: 'tls', ...bytes }
    return { event: { type: 'network.connection', data }, allowed: true }
  }
  const request = policy.request(name, port, method, path)
  if (!request.allowed) return { event: refused(request, { method, path }), allowed: false }
  const data = { process: 1, name, port, named: request.named, method, path, status: 200, secrets: [] }
  return { event: { type: 'network.request', data }, allowed: true }
}

describe('a policy that is learned from a record', () => {
  it('allows all that was allowed and nothing of what was refused, except what it says', () => {
    fc.assert(
      fc.property(anyPolicy, fc.array(anyAttempt, { maxLength: 25 }), (given, attempts) => {
        const policy = new CompiledPolicy(given)
        const results = attempts.map((attempt) => ({ attempt, ...recorded(policy, attempt) }))
        const { policy: learned, notes } = learnPolicy(
          results.map(({ event }) => event),
          given,
        )
        const compiled = new CompiledPolicy(learned)
        for (const { attempt, event, allowed } of results) {
          const { name, port, method, path } = attempt
          const isRequest = 'method' in event.data
          const now = isRequest ? compiled.request(name, port, method, path) : compiled.connection(name, port)
          const said = `${method} ${name} ${port} ${path} was refused, and is allowed`
          if (allowed) expect(now.allowed, `${JSON.stringify(learned)} ${said}`).toBe(true)
          else if (event.data['refusal'] !== 'malformed') expect(now.allowed && !notes.includes(said)).toBe(false)
        }
      }),
      { numRuns: 600 },
    )
  })

  it('is as small as rules can say', () => {
    const request = (method: string, path: string, port = 443): Event => ({
      type: 'network.request',
      data: { process: 1, name: 'api.test', port, named: false, method, path, status: 200, secrets: [] },
    })
    const connection = (name: string, port: number, more: object = {}): Event => ({
      type: 'network.connection',
      data: {
        process: 1,
        name,
        port,
        named: true,
        protocol: 'tcp',
        sentBytes: 9,
        receivedBytes: 9,
        failure: null,
        ...more,
      },
    })
    const { policy, notes } = learnPolicy(
      [
        request('GET', '/v1/a?key=1'),
        request('POST', '/v1/a'),
        request('GET', '/v1/b'),
        request('GET', '/v1/b', 8443),
        connection('api.test', 443, { protocol: 'opened' }),
        connection('db.test', 5432),
        connection('db.test', 5433),
        // What a connection says of itself while it is open needs nothing that its end does not.
        ...['network.opened', 'network.progress'].map((type) => ({ ...connection('open.test', 22), type })),
        connection('quiet.test', 443, { sentBytes: 0, receivedBytes: 0 }),
        { type: 'command.started', data: { process: 1 } },
      ],
      { allow: [{ name: 'db.test', ports: [5432], addresses: ['10.0.0.0/8'] }] },
    )
    expect(notes).toEqual([])
    expect(policy).toEqual({
      allow: [
        { name: 'api.test', methods: ['GET', 'POST'], paths: ['/v1/a'], ports: [443] },
        { name: 'api.test', methods: ['GET'], paths: ['/v1/b'], ports: [443, 8443] },
        { name: 'db.test', ports: [5432, 5433], addresses: ['10.0.0.0/8'] },
      ],
    })
  })

  it('allows a path that is too long for the record by its beginning', () => {
    const paths = [
      `/a/${'b'.repeat(2000)}`,
      `/a/${'b'.repeat(1020)}%20c`,
      `/q/${'%20'.repeat(400)}`,
      `/r/${'x*'.repeat(600)}`,
    ]
    const entries: RecordEntry[] = []
    // SAFETY: the record looks at nothing else of a connection.
    const connection = {
      name: 'a.test',
      port: 443,
      process: null,
      recorder: { add: (entry: RecordEntry) => void entries.push(entry) },
    } as unknown as InspectedConnection
    for (const target of paths) recordRequest(connection, { method: 'GET', target }, { named: true, secrets: [] }, 200)
    const refused = {
      kind: 'refusal',
      name: 'a.test',
      port: 443,
      refusal: 'denied',
      message: '',
      method: 'GET',
      path: '/c',
    }
    const { policy, notes } = learnPolicy(
      [
        ...entries.map((data) => ({ type: 'network.request', data: { ...data } })),
        { type: 'network.refused', data: refused },
      ],
      {},
    )
    const compiled = new CompiledPolicy(policy)
    for (const path of paths) expect(compiled.request('a.test', 443, 'GET', path).allowed, path).toBe(true)
    expect(compiled.request('a.test', 443, 'GET', '/a/bb').allowed).toBe(false)
    expect(compiled.request('a.test', 443, 'GET', '/c').allowed).toBe(false)
    expect(notes.join()).toContain('as its beginning')
  })

  it('is shown with everything written out', () => {
    const shown = effectivePolicy({ presets: ['npm'], allow: ['a.test:22'], deny: ['b.test'] })
    expect(shown).toEqual({
      mode: 'enforce',
      allow: [
        { name: 'a.test', ports: [22] },
        { name: expect.stringContaining('npm') as unknown, ports: [443] },
      ],
      deny: [{ name: 'b.test', ports: [443, 80] }],
      budgets: {},
    })
  })
})
