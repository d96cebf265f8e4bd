import { BOUNDS, type Policy } from '@hearth/contract'
import { describe, expect, test } from 'vitest'
import { processSpec } from '../../sandbox/process-spec.ts'
import { CompiledPolicy } from './compiled-policy.ts'
import { NarrowedPolicy } from './narrowed-policy.ts'

const both = (sandbox: Policy, command: Policy): NarrowedPolicy => {
  const wide = new CompiledPolicy(sandbox)
  return new NarrowedPolicy(() => wide, new CompiledPolicy(command))
}

describe('a policy of a command', () => {
  test('allows what both allow, and nothing that one of them denies', () => {
    const policy = both(
      { allow: ['*.example'], deny: ['bad.example'] },
      { allow: ['a.example', 'bad.example', 'b.test'] },
    )
    expect(policy.ports('a.example')).toEqual([443, 80])
    for (const name of ['bad.example', 'b.test', 'c.example']) expect(policy.ports(name)).toEqual([])
    expect(policy.connection('c.example', 443)).toMatchObject({ message: expect.stringContaining('of this command') })
  })

  test('looks inside when one of them must', () => {
    const policy = both({ allow: ['a.example'] }, { allow: [{ name: 'a.example', methods: ['GET'] }] })
    expect(policy.connection('a.example', 443)).toMatchObject({ allowed: true, inspected: true })
    expect(policy.request('a.example', 443, 'GET', '/')).toMatchObject({ allowed: true })
    expect(policy.request('a.example', 443, 'POST', '/')).toMatchObject({ refusal: 'method_not_allowed' })
  })

  test('never adds addresses that are not public', () => {
    const rule = (...addresses: string[]): Policy => ({ allow: [{ name: 'a.example', addresses }] })
    const dialed = (sandbox: Policy, command: Policy): unknown => both(sandbox, command).connection('a.example', 443)
    expect(dialed({ allow: ['a.example'] }, rule('10.0.0.0/8'))).toMatchObject({ addresses: [] })
    expect(dialed(rule('10.0.0.0/8'), { allow: ['a.example'] })).toMatchObject({ addresses: ['10.0.0.0/8'] })
    expect(dialed(rule('10.0.0.0/8'), rule('10.1.0.0/16', '192.168.0.0/16'))).toMatchObject({
      addresses: ['10.1.0.0/16'],
    })
  })

  test('audits no more than the sandbox allows', () => {
    expect(both({ allow: ['a.example'] }, { mode: 'audit' }).ports('b.example')).toEqual([])
  })

  test('has so many bytes', () => {
    const long = Array.from({ length: 900 }, (_, index) => ({ name: `${'n'.repeat(60)}${index}.example` }))
    expect(() => processSpec('true', { policy: { allow: long } })).toThrow(`at most ${BOUNDS.narrowedPolicyBytes}`)
  })
})
