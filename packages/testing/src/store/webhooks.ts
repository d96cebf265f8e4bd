import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const MOST_WEBHOOKS = 20
const KEY = Buffer.alloc(32, 1)
const GIVEN = {
  name: 'mine',
  url: 'https://hooks.example.com/a',
  events: ['a', 'b'],
  enabled: true,
  secret: 'a secret that nobody sees',
}
const LEASE_MS = 1000

export function describeWebhooks(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('is kept, changed and removed, each tenant for itself', async () => {
    const { tenant, now, advance, connect } = fixture()
    const store = await connect(KEY)
    const [own, other] = [await tenant(), await tenant()]
    const { secret: _, ...shown } = GIVEN
    const made = await store.webhooks.create(own.id, GIVEN)
    const times = { createdAt: now(), updatedAt: now(), failure: null, deliveredAt: null }
    expect(made).toEqual({ id: made.id, tenantId: own.id, ...shown, ...times })
    expect(await store.webhooks.list(own.id)).toEqual([made])
    expect(await store.webhooks.list(other.id)).toEqual([])
    await expectRefusal(store.webhooks.get(other.id, made.id), 'not_found')
    await expectRefusal(store.webhooks.update(other.id, made.id, { enabled: false }), 'not_found')
    await expectRefusal(store.webhooks.remove(other.id, made.id), 'not_found')
    advance(5)
    const changed = await store.webhooks.update(own.id, made.id, { events: ['c'], enabled: false })
    expect(changed).toEqual({ ...made, events: ['c'], enabled: false, updatedAt: now() })
    expect(await store.webhooks.due()).toEqual([])
    expect(await store.webhooks.claim(made.id, 'one', LEASE_MS)).toBeNull()
    await store.webhooks.remove(own.id, made.id)
    await expectRefusal(store.webhooks.get(own.id, made.id), 'not_found')
  })

  it('is told things by one at a time, who writes down how far it is', async () => {
    const { tenant, now, advance, connect } = fixture()
    const store = await connect(KEY)
    const { id: tenantId } = await tenant()
    const before = await store.events.head()
    const { id } = await store.webhooks.create(tenantId, GIVEN)
    expect(await store.webhooks.due(tenantId)).toEqual([
      { id, tenantId, events: GIVEN.events, told: before, nextAt: 0 },
    ])
    const both = await Promise.all(['one', 'two'].map((owner) => store.webhooks.claim(id, owner, LEASE_MS)))
    const [claimed] = both.filter((each) => each !== null)
    expect(both).toContain(null)
    if (claimed === undefined) throw new Error('nobody has it')
    expect([claimed.secret, claimed.progress.told]).toEqual([GIVEN.secret, before])
    const progress = { ...claimed.progress, told: 7, refusals: 2, failures: 3, failure: 'no', nextAt: now() + 50 }
    expect(await store.webhooks.proceed(claimed, progress, 0)).toBe(true)
    // Not before its time.
    expect(await store.webhooks.claim(id, 'three', LEASE_MS)).toBeNull()
    advance(50)
    const again = await store.webhooks.claim(id, 'three', LEASE_MS)
    expect(again?.progress).toEqual(progress)
    expect(await store.webhooks.proceed(claimed, progress, 0)).toBe(false)
    // The lease of one that died runs out.
    advance(LEASE_MS)
    expect((await store.webhooks.claim(id, 'four', LEASE_MS))?.owner).toBe('four')
  })

  it('begins anew when it is changed, and is not told what happened while it was off', async () => {
    const { tenant, advance, connect } = fixture()
    const store = await connect(KEY)
    const { id: tenantId } = await tenant()
    const { id } = await store.webhooks.create(tenantId, GIVEN)
    const claimed = await store.webhooks.claim(id, 'one', LEASE_MS)
    if (claimed === null) throw new Error('nobody has it')
    advance(1)
    await store.webhooks.update(tenantId, id, { secret: 'another', enabled: false })
    expect(await store.webhooks.proceed(claimed, { ...claimed.progress, failures: 9 }, 0)).toBe(false)
    await store.webhooks.release(claimed)
    await store.events.append({ tenantId, type: 'a' })
    await store.webhooks.update(tenantId, id, { enabled: true })
    const fresh = await store.webhooks.claim(id, 'two', LEASE_MS)
    expect([fresh?.secret, fresh?.progress.failures, fresh?.progress.told]).toEqual([
      'another',
      0,
      await store.events.head(),
    ])
  })

  it('cannot be signed for with another key, or in the place of another', async () => {
    const { tenant, connect, store: keyless, execute } = fixture()
    const store = await connect(KEY)
    const { id: tenantId } = await tenant()
    const { id } = await store.webhooks.create(tenantId, GIVEN)
    await expectRefusal(keyless.webhooks.create(tenantId, GIVEN), 'secret_unreadable')
    await expectRefusal(keyless.webhooks.claim(id, 'one', 0), 'secret_unreadable')
    await execute("update webhooks set id = 'wh_other'")
    await expectRefusal(store.webhooks.claim('wh_other', 'one', 0), 'secret_unreadable')
  })

  it('says how many a tenant may have', async () => {
    const { tenant, connect } = fixture()
    const store = await connect(KEY)
    const { id } = await tenant()
    for (let count = 0; count < MOST_WEBHOOKS; count++) await store.webhooks.create(id, GIVEN)
    await expectRefusal(store.webhooks.create(id, GIVEN), 'quota_exceeded')
    expect(await store.webhooks.list(id)).toHaveLength(MOST_WEBHOOKS)
  })
}
