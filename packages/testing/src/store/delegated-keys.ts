import { expect, it } from 'vitest'
import { EVERYTHING, type Grant } from '@hearth/contract'
import type { ApiKey, NewSandbox, SandboxRecord, Tenant } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import type { QuotaSuiteOptions } from './quotas.ts'
import { newSandbox, useStore, type StoreFixture } from './store-suite.ts'

const scopes = ['sandbox:write', 'keys'] as const

/** A key that was not delegated, and below it one key under another. */
async function chainOf(
  { store, tenant }: StoreFixture,
  ...grants: readonly Partial<Grant>[]
): Promise<{ readonly tenant: Tenant; readonly keys: readonly ApiKey[]; readonly tokens: readonly string[] }> {
  const owner = await tenant()
  const first = await store.apiKeys.create({ tenantId: owner.id, name: 'first', scopes })
  const made = [first]
  for (const change of grants) {
    const maker = made.at(-1) ?? first
    made.push(await store.apiKeys.delegate(maker.key, { name: 'below', scopes, grant: { ...EVERYTHING, ...change } }))
  }
  return { tenant: owner, keys: made.map(({ key }) => key), tokens: made.map(({ token }) => token) }
}

export function describeDelegatedKeys(options: QuotaSuiteOptions): void {
  const fixture = useStore(options)

  const make = async (tenant: Tenant, holder: ApiKey, change: Partial<NewSandbox> = {}): Promise<SandboxRecord> => {
    const { store, now } = fixture()
    const row = newSandbox(tenant, now(), { holder: holder.path, hostId: 'host-a', ...change })
    return await store.transaction((session) => options.createWithinQuota(session, row))
  }

  it('keeps the grant and the way to a key, and ends all below one that is revoked', async () => {
    const { store } = fixture()
    const { tenant, keys, tokens } = await chainOf(fixture(), { depth: 2 }, { depth: 1 }, { depth: 0 })
    const [first, second, third, fourth] = keys
    expect(await store.apiKeys.verify(tokens[3] ?? '')).toMatchObject({
      grant: { ...EVERYTHING, depth: 0 },
      path: `${[first, second, third, fourth].map((key) => key?.id).join('/')}/`,
      sandboxId: null,
    })
    await store.apiKeys.revoke(tenant.id, third?.id ?? '')
    for (const token of tokens.slice(2)) await expectRefusal(store.apiKeys.verify(token), 'unauthorized')
    await store.apiKeys.verify(tokens[1] ?? '')
    if (third !== undefined)
      await expectRefusal(store.apiKeys.delegate(third, { name: 'late', scopes, grant: EVERYTHING }), 'unauthorized')
    await store.apiKeys.revoke(tenant.id, first?.id ?? '')
    await expectRefusal(store.apiKeys.verify(tokens[1] ?? ''), 'unauthorized')
  })

  it('counts the sandboxes of a holder and of all below it together', async () => {
    const { tenant, keys } = await chainOf(fixture(), { children: 2 }, { children: 2 })
    const [, above, below] = keys
    if (above === undefined || below === undefined) throw new Error('no chain')
    await make(tenant, above)
    await make(tenant, below)
    const refused = await expectRefusal(make(tenant, below), 'grant_exceeded')
    expect(refused.message).toContain('children')
    expect(await fixture().store.sandboxes.holdings(below.path ?? '')).toMatchObject({ sandboxes: 1 })
  })

  it('counts the lives of those that have ended, and keeps their tombstones for it', async () => {
    const { store, now, advance } = fixture()
    const budget = { ...EVERYTHING.budget, wallTimeMs: 70_000 }
    const { tenant, keys } = await chainOf(fixture(), { budget }, {})
    const [, above, below] = keys
    if (above === undefined || below === undefined) throw new Error('no chain')
    const record = await make(tenant, below, { expiresAt: now() + 60_000 })
    await expectRefusal(make(tenant, above, { expiresAt: now() + 10_001 }), 'grant_exceeded')
    advance(15_000)
    const deleting = await store.sandboxes.transition(record, 'deleting')
    await store.sandboxes.transition(deleting, 'deleted', { endedAt: now() })
    expect(await store.sandboxes.holdings(above.path ?? '')).toEqual({ sandboxes: 0, wallTimeMs: 15_000 })
    advance(1)
    expect(await store.sandboxes.purge(now())).toBe(0)
    await store.apiKeys.revoke(tenant.id, below.id)
    expect(await store.sandboxes.purge(now())).toBe(0)
    await store.apiKeys.revoke(tenant.id, above.id)
    expect(await store.sandboxes.purge(now())).toBe(1)
  })

  it('finds what was made with keys that do not work any more, and ends keys with their sandbox', async () => {
    const { store, sandbox, now, advance } = fixture()
    const { tenant, keys } = await chainOf(fixture(), {})
    const [first] = keys
    if (first === undefined) throw new Error('no chain')
    const home = await sandbox(tenant, { hostId: 'host-a' })
    const grant = { ...EVERYTHING, depth: 1 }
    const bound = await store.apiKeys.delegate(first, { name: 'inside', scopes, grant, sandboxId: home.id })
    const brief = { name: 'brief', scopes, grant, expiresAt: now() + 1000 }
    const short = await store.apiKeys.delegate(first, brief)
    const [mine, other] = [await make(tenant, bound.key), await make(tenant, short.key)]
    expect(await store.apiKeys.ofSandbox(home.id)).toMatchObject({ id: bound.key.id })
    await expect(store.apiKeys.verify(bound.token)).rejects.toMatchObject({ code: 'unauthorized' })
    await store.apiKeys.revokeBound()
    expect(await store.sandboxes.orphans('host-a')).toEqual([])
    advance(1000)
    expect((await store.sandboxes.orphans('host-a')).map(({ id }) => id)).toEqual([other.id])
    const deleting = await store.sandboxes.transition(home, 'deleting')
    await store.sandboxes.transition(deleting, 'deleted')
    await store.apiKeys.revokeBound()
    expect(new Set((await store.sandboxes.orphans('host-a')).map(({ id }) => id))).toEqual(new Set([mine.id, other.id]))
    expect(await store.apiKeys.ofSandbox(home.id)).toBeNull()
    expect((await store.sandboxes.list({ tenantId: tenant.id, below: bound.key.path ?? '' })).items).toHaveLength(1)
  })
  it('forgets delegated keys some time after they ended, and others some time later', async () => {
    const { store, now, advance } = fixture()
    const { tenant, keys } = await chainOf(fixture(), {}, {})
    const [first, second, third] = keys
    if (first === undefined || second === undefined || third === undefined) throw new Error('no chain')
    const left = async (): Promise<string[]> => (await store.apiKeys.list(tenant.id)).items.map(({ id }) => id)
    await store.apiKeys.delegate(first, { name: 'brief', scopes, grant: EVERYTHING, expiresAt: now() + 1000 })
    await store.apiKeys.revoke(tenant.id, third.id)
    const purge = (others: number): Promise<number> => store.apiKeys.purge({ delegated: now(), others })
    expect(await purge(0)).toBe(0)
    advance(1001)
    expect(await purge(0)).toBe(2)
    expect(new Set(await left())).toEqual(new Set([first.id, second.id]))
    await store.apiKeys.revoke(tenant.id, first.id)
    advance(1)
    expect(await purge(0)).toBe(1)
    expect(await left()).toEqual([first.id])
    const { key: works } = await store.apiKeys.create({ tenantId: tenant.id, name: 'works', scopes })
    const expired = { tenantId: tenant.id, name: 'expired', scopes, expiresAt: now() + 10 }
    await store.apiKeys.create(expired)
    advance(11)
    expect(await purge(now() - 11)).toBe(1)
    expect(await purge(now() - 1)).toBe(0)
    expect(await purge(now())).toBe(1)
    expect(await left()).toEqual([works.id])
  })
}
