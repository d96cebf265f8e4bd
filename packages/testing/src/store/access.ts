import { expect, it } from 'vitest'
import { DEFAULT_QUOTAS, type Grant } from '@hearth/contract'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeTenants(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('keeps a tenant with its quotas, the rest at their defaults', async () => {
    const { store, now } = fixture()
    const tenant = await store.tenants.create({ name: 'one', quotas: { sandboxes: 3 } })
    expect(tenant).toEqual({
      id: tenant.id,
      name: 'one',
      quotas: { ...DEFAULT_QUOTAS, sandboxes: 3 },
      createdAt: now(),
    })
    expect(tenant.id).toMatch(/^tn_/)
    expect(await store.tenants.get(tenant.id)).toEqual(tenant)
    expect(await store.tenants.findByName('one')).toEqual(tenant)
    expect(await store.tenants.findByName('two')).toBeNull()
    expect((await store.tenants.setQuotas(tenant.id, { cpus: 1.5 })).quotas).toMatchObject({ sandboxes: 3, cpus: 1.5 })
    expect((await store.tenants.list()).items).toEqual([await store.tenants.get(tenant.id)])
  })

  it('lists tenants in pages, oldest first', async () => {
    const { store, advance } = fixture()
    const made: string[] = []
    for (let index = 0; index < 5; index++) {
      made.push((await store.tenants.create({ name: `t${index}` })).id)
      advance(1)
    }
    const first = await store.tenants.list({ limit: 3 })
    const second = await store.tenants.list({ limit: 3, cursor: first.next ?? '' })
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(made)
    expect([first.items.length, second.next]).toEqual([3, null])
    await expectRefusal(store.tenants.list({ limit: 1001 }), 'invalid_request')
    await expectRefusal(store.tenants.list({ cursor: 'x' }), 'invalid_request')
  })

  it('refuses a name twice, quotas that make no sense, and a tenant that is not there', async () => {
    const { store } = fixture()
    await store.tenants.create({ name: 'one' })
    await expectRefusal(store.tenants.create({ name: 'one' }), 'conflict')
    await expectRefusal(store.tenants.create({ name: 'two', quotas: { sandboxes: -1 } }), 'invalid_request')
    await expectRefusal(store.tenants.get('tn_none'), 'not_found')
    await expectRefusal(store.tenants.setQuotas('tn_none', {}), 'not_found')
  })
}

export function describeApiKeys(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('gives a token once and knows it again by its hash', async () => {
    const { store, tenant } = fixture()
    const { id: tenantId } = await tenant()
    const { key, token } = await store.apiKeys.create({ tenantId, name: 'ci', scopes: ['exec', 'files', 'exec'] })
    expect(token).toMatch(/^hearth_key_[0-9a-z]{20}_[0-9a-z]{52}$/)
    expect(key).toMatchObject({ tenantId, name: 'ci', scopes: ['exec', 'files'], prefix: `hearth_${key.id}` })
    const secret = token.slice(-52)
    expect(JSON.stringify([key, await store.apiKeys.list(tenantId)])).not.toContain(secret)
    expect(await store.apiKeys.verify(token)).toMatchObject({ id: key.id, tenantId, scopes: ['exec', 'files'] })
  })

  it('refuses every other token with one message', async () => {
    const { store, tenant } = fixture()
    const { id: tenantId } = await tenant()
    const { key, token } = await store.apiKeys.create({ tenantId, name: 'a', scopes: ['admin'] })
    const other = await store.apiKeys.create({ tenantId, name: 'b', scopes: ['admin'] })
    const last = token.at(-1) === '0' ? '1' : '0'
    const wrong = [
      '',
      'hearth',
      token.slice(0, -1),
      `${token}0`,
      ` ${token}`,
      token.toUpperCase(),
      `${token.slice(0, -1)}${last}`,
      `hearth_${key.id}_${other.token.slice(-52)}`,
      `hearth_key_${'0'.repeat(20)}_${token.slice(-52)}`,
      'x'.repeat(100_000),
    ]
    const messages = new Set<string>()
    for (const text of wrong) messages.add((await expectRefusal(store.apiKeys.verify(text), 'unauthorized')).message)
    expect(messages.size).toBe(1)
  })

  it('refuses a key from the instant of its expiry', async () => {
    const { store, tenant, now, advance } = fixture()
    const { id: tenantId } = await tenant()
    const { token } = await store.apiKeys.create({ tenantId, name: 'a', scopes: ['exec'], expiresAt: now() + 1000 })
    advance(999)
    await store.apiKeys.verify(token)
    advance(1)
    expect((await expectRefusal(store.apiKeys.verify(token), 'unauthorized')).message).toContain('expired')
  })

  it('refuses a revoked key, and only its own tenant can revoke it', async () => {
    const { store, tenant, now, advance } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const { key, token } = await store.apiKeys.create({ tenantId: mine.id, name: 'a', scopes: ['exec'] })
    await expectRefusal(store.apiKeys.revoke(theirs.id, key.id), 'not_found')
    await store.apiKeys.verify(token)
    const revokedAt = now()
    await store.apiKeys.revoke(mine.id, key.id)
    expect((await expectRefusal(store.apiKeys.verify(token), 'unauthorized')).message).toContain('revoked')
    advance(5)
    expect(await store.apiKeys.revoke(mine.id, key.id)).toMatchObject({ revokedAt })
    expect((await store.apiKeys.list(theirs.id)).items).toEqual([])
    expect(await store.apiKeys.find(theirs.id, key.id)).toBeNull()
    expect(await store.apiKeys.find(mine.id, key.id)).toMatchObject({ revokedAt })
  })

  it('keeps the last key of an operator that works, whichever tenant it is of', async () => {
    const { store, tenant, now, advance } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const make = async (tenantId: string, expiresAt: number | null = null): Promise<string> =>
      (await store.apiKeys.create({ tenantId, name: 'o', scopes: ['admin', 'operator'], expiresAt })).key.id
    await store.apiKeys.create({ tenantId: mine.id, name: 'a', scopes: ['admin'] })
    expect([await store.apiKeys.any('admin'), await store.apiKeys.any('operator')]).toEqual([true, false])
    const [first, second, brief] = [await make(mine.id), await make(theirs.id), await make(mine.id, now() + 1000)]
    advance(1000)
    // Of two who revoke one each at the same time, one is refused.
    const both = await Promise.allSettled([
      store.apiKeys.revoke(mine.id, first),
      store.apiKeys.revoke(theirs.id, second),
    ])
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const left = both[0]?.status === 'rejected' ? first : second
    const owner = left === first ? mine : theirs
    const refused = await expectRefusal(store.apiKeys.revoke(owner.id, left), 'invalid_state')
    expect(refused.suggestion).toContain('hearth key create')
    // One that does not work any more may go, and so may the last one once there is another.
    await store.apiKeys.revoke(mine.id, brief)
    await make(theirs.id)
    await store.apiKeys.revoke(owner.id, left)
    expect(await store.apiKeys.any('operator')).toBe(true)
  })

  it('lists the keys of one tenant in pages, newest first, and those below a path', async () => {
    const { store, tenant, advance } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const made: string[] = []
    for (let index = 0; index < 5; index++) {
      made.unshift((await store.apiKeys.create({ tenantId: mine.id, name: `k${index}`, scopes: ['admin'] })).key.id)
      await store.apiKeys.create({ tenantId: theirs.id, name: 'other', scopes: ['exec'] })
      advance(1)
    }
    const first = await store.apiKeys.list(mine.id, { limit: 3 })
    const second = await store.apiKeys.list(mine.id, { limit: 3, cursor: first.next ?? '' })
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(made)
    expect([first.items.length, second.next]).toEqual([3, null])
    await expectRefusal(store.apiKeys.list(mine.id, { cursor: 'x' }), 'invalid_request')
    const maker = first.items[0]
    if (maker === undefined) throw new Error('there is no key')
    const grant = { scopes: ['exec'] } as unknown as Grant
    const { key: part } = await store.apiKeys.delegate(maker, { name: 'part', scopes: ['exec'], grant })
    const below = await store.apiKeys.list(mine.id, { below: `${maker.id}/`, limit: 1 })
    expect([below.items.map(({ id }) => id), below.next]).toEqual([[part.id], null])
  })

  it('writes the last use down once a minute', async () => {
    const { store, tenant, now, advance } = fixture()
    const { id: tenantId } = await tenant()
    expect(await store.apiKeys.any()).toBe(false)
    const { token } = await store.apiKeys.create({ tenantId, name: 'a', scopes: ['exec'] })
    expect(await store.apiKeys.any()).toBe(true)
    const lastUsedAt = async (): Promise<number | null | undefined> =>
      (await store.apiKeys.list(tenantId)).items[0]?.lastUsedAt
    expect(await lastUsedAt()).toBeNull()
    const first = now()
    await store.apiKeys.verify(token)
    advance(59_999)
    await store.apiKeys.verify(token)
    expect(await lastUsedAt()).toBe(first)
    advance(1)
    await store.apiKeys.verify(token)
    expect(await lastUsedAt()).toBe(first + 60_000)
  })

  it('needs a tenant that exists', async () => {
    const { store } = fixture()
    await expect(store.apiKeys.create({ tenantId: 'tn_none', name: 'a', scopes: ['exec'] })).rejects.toThrow(
      /foreign key/i,
    )
  })
}

export function describeHosts(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('remembers hosts, when they started and when they were last heard of', async () => {
    const { store, now, advance } = fixture()
    const first = await store.hosts.register('host-a')
    expect(first).toEqual({ id: 'host-a', url: null, startedAt: now(), heartbeatAt: now() })
    advance(10)
    await store.hosts.heartbeat('host-a')
    expect(await store.hosts.list()).toEqual([{ ...first, heartbeatAt: now() }])
    await store.hosts.register('host-a', 'http://127.0.0.1:1')
    expect(await store.hosts.list()).toEqual([
      { id: 'host-a', url: 'http://127.0.0.1:1', startedAt: now(), heartbeatAt: now() },
    ])
  })
}
