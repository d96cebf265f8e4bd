import type { SandboxId } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import { AccessTokens, signatureOf } from './access-tokens.ts'

const grant = { sandbox: 'sb_00000000000000000000' as SandboxId, tenantId: 'tn_a', keyId: 'key_a' }

describe('tokens of sandboxes', () => {
  const tokens = new AccessTokens(Buffer.alloc(32, 1))

  it('signs as the vendor does', () => {
    const text = { path: 'hello.txt', operation: 'read', user: 'user', expiration: null } as const
    expect(signatureOf(text, '0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0')).toBe('v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E')
  })

  it('knows its own tokens and no others', () => {
    const token = tokens.issue(grant)
    expect(tokens.verify(token, grant.sandbox)).toEqual(grant)
    expect(tokens.verify(token, 'sb_11111111111111111111' as SandboxId)).toBeNull()
    expect(tokens.verify(token.replace('tn_a', 'tn_b'), grant.sandbox)).toBeNull()
    expect(tokens.verify(`${token}x`, grant.sandbox)).toBeNull()
    expect(new AccessTokens(Buffer.alloc(32, 2)).verify(token, grant.sandbox)).toBeNull()
  })

  it('forgets the oldest when there are many', () => {
    const many = new AccessTokens(Buffer.alloc(32, 1))
    const text = { path: '/a', operation: 'read', user: '', expiration: null } as const
    const signature = signatureOf(text, many.issue(grant))
    expect(many.signedBy(signature, text)).toEqual(grant)
    for (let index = 0; index < 10_000; index++) many.issue({ ...grant, keyId: `key_${index}` })
    expect(many.signedBy(signature, text)).toBeNull()
  })
})
