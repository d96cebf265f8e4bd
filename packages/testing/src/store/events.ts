import { expect, it } from 'vitest'
import type { EventPage, Store } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const typesOf = (page: EventPage): string[] => page.events.map(({ type }) => type)

export function describeEvents(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const appendMany = async (
    store: Store,
    count: number,
    event: { tenantId: string; sandboxId?: string },
  ): Promise<void> => {
    const events = Array.from({ length: count }, (_, index) => ({ ...event, type: `event.${index}` }))
    await store.events.append(...events)
  }

  it('numbers events and pages through them by tenant and sandbox', async () => {
    const { store, now } = fixture()
    expect(await store.events.head()).toBe(0)
    await store.events.append(
      { tenantId: 'a', sandboxId: 'x', type: 'one', data: { text: 'ä' } },
      { tenantId: 'a', type: 'two' },
    )
    await store.events.append({ tenantId: 'b', sandboxId: 'y', type: 'three' })
    const all = await store.events.page()
    const hash: unknown = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(all).toEqual({
      events: [
        { seq: 1, tenantId: 'a', sandboxId: 'x', at: now(), type: 'one', data: { text: 'ä' }, hash },
        { seq: 2, tenantId: 'a', sandboxId: null, at: now(), type: 'two', data: {}, hash: null },
        { seq: 3, tenantId: 'b', sandboxId: 'y', at: now(), type: 'three', data: {}, hash },
      ],
      next: 3,
      dropped: null,
    })
    expect(typesOf(await store.events.page({ tenantId: 'a' }))).toEqual(['one', 'two'])
    expect(typesOf(await store.events.page({ tenantId: 'a', sandboxId: 'x' }))).toEqual(['one'])
    expect(typesOf(await store.events.page({ tenantId: 'b', sandboxId: 'x' }))).toEqual([])
    expect(typesOf(await store.events.page({ types: ['three', 'one'] }))).toEqual(['one', 'three'])
    expect(typesOf(await store.events.page({ types: [] }))).toEqual([])
    expect(typesOf(await store.events.page({ tenantId: 'a', before: 9 }))).toEqual(['two', 'one'])
    expect(await store.events.page({ before: 3, limit: 1 })).toMatchObject({ events: [{ seq: 2 }], next: 2 })
    expect(await store.events.page({ after: 1, limit: 1 })).toMatchObject({ events: [{ seq: 2 }], next: 2 })
    expect(await store.events.page({ after: 3 })).toEqual({ events: [], next: 3, dropped: null })
    expect(await store.events.head()).toBe(3)
    for (const limit of [0, 1001]) await expectRefusal(store.events.page({ limit }), 'invalid_request')
  })

  it('shows a number only when all before it can be seen, with many writers', { timeout: 60_000 }, async () => {
    const { store, connect } = fixture()
    const stores = [store, await connect(), await connect()]
    const stop = new AbortController()
    const seen: number[] = []
    const reader = (async () => {
      for await (const page of store.events.follow({ signal: stop.signal, pollMs: 20 })) {
        seen.push(...page.events.map(({ seq }) => seq))
        if (seen.length >= 120) return
      }
    })()
    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        (stores[index % 3] ?? store).transaction(async (session) => {
          await session.events.append({ tenantId: 'a', type: 'first' })
          await session.hosts.register(`host-${index % 7}`)
          await session.events.append({ tenantId: 'a', type: 'second' })
        }),
      ),
    )
    await reader
    stop.abort()
    expect(seen).toEqual(Array.from({ length: 120 }, (_, index) => index + 1))
  })

  it('drops beyond the bound of a sandbox, and says so to who reads from before', async () => {
    const { store } = fixture()
    await appendMany(store, 30, { tenantId: 'a', sandboxId: 'x' })
    await appendMany(store, 5, { tenantId: 'a', sandboxId: 'y' })
    const dropped = await store.events.prune({ maximumPerSandbox: 10, maximumAgeMs: 1000 })
    expect(dropped).toEqual({ count: 20, bySandbox: [{ tenantId: 'a', sandboxId: 'x', count: 20, through: 20 }] })
    const page = await store.events.page({ sandboxId: 'x' })
    expect(page).toMatchObject({ dropped: { through: 20, count: 20 }, next: 30 })
    expect(page.events.map(({ seq }) => seq)).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30])
    expect((await store.events.page({ sandboxId: 'x', after: 20 })).dropped).toBeNull()
    expect((await store.events.page({ sandboxId: 'y' })).dropped).toBeNull()
    expect((await store.events.page({ tenantId: 'a' })).dropped).toEqual({ through: 20, count: 20 })
    expect((await store.events.page({ tenantId: 'b' })).dropped).toBeNull()
    expect((await store.events.page()).dropped).toEqual({ through: 20, count: 20 })
    await appendMany(store, 1, { tenantId: 'a', sandboxId: 'x' })
    expect((await store.events.page({ after: 35 })).events).toMatchObject([{ seq: 36 }])
  })

  it('drops what is old, adds up what it dropped, and forgets the notes of sandboxes that are gone', async () => {
    const { store, advance } = fixture()
    await appendMany(store, 3, { tenantId: 'a', sandboxId: 'x' })
    await appendMany(store, 2, { tenantId: 'a' })
    advance(1000)
    await appendMany(store, 4, { tenantId: 'a', sandboxId: 'x' })
    const retention = { maximumPerSandbox: 2, maximumAgeMs: 999 }
    expect(await store.events.prune(retention)).toMatchObject({ count: 7 })
    expect((await store.events.page({ sandboxId: 'x' })).dropped).toEqual({ through: 7, count: 5 })
    expect((await store.events.page({ tenantId: 'a' })).dropped).toEqual({ through: 7, count: 7 })
    advance(1000)
    expect(await store.events.prune(retention)).toMatchObject({ count: 2 })
    expect((await store.events.page({ sandboxId: 'x' })).dropped).toBeNull()
    expect((await store.events.page({ tenantId: 'a' })).dropped).toEqual({ through: 9, count: 9 })
    expect(await store.events.prune(retention)).toEqual({ count: 0, bySandbox: [] })
  })

  it('follows: wakes at once for its own process, ends with the signal and with the store', async () => {
    const { store, connect } = fixture()
    const stop = new AbortController()
    const events = store.events.follow({ tenantId: 'a', signal: stop.signal, pollMs: 60_000 })
    const first = events.next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await store.events.append({ tenantId: 'b', type: 'other' })
    await store.events.append({ tenantId: 'a', type: 'mine' })
    expect(await first).toMatchObject({ done: false, value: { events: [{ type: 'mine', seq: 2 }] } })
    const second = events.next()
    stop.abort()
    expect(await second).toEqual({ done: true, value: undefined })
    const other = await connect()
    const third = other.events.follow({ after: 2, pollMs: 60_000 }).next()
    await new Promise((resolve) => setTimeout(resolve, 20))
    await other.close()
    expect(await third).toEqual({ done: true, value: undefined })
  })

  it('follows what another process writes', async () => {
    const { store, connect } = fixture()
    const other = await connect()
    // Postgres tells at once; SQLite cannot, and is asked again.
    const pollMs = store.dialect === 'postgres' ? 60_000 : 30
    const next = store.events.follow({ pollMs }).next()
    await new Promise((resolve) => setTimeout(resolve, 50))
    await other.events.append({ tenantId: 'a', type: 'from afar' })
    expect(await next).toMatchObject({ value: { events: [{ type: 'from afar' }] } })
  })

  it('tells a follower that retention overtook it', async () => {
    const { store, advance } = fixture()
    await appendMany(store, 3, { tenantId: 'a', sandboxId: 'x' })
    advance(10)
    await store.events.prune({ maximumPerSandbox: 10, maximumAgeMs: 5 })
    const events = store.events.follow({ tenantId: 'a' })
    expect(await events.next()).toMatchObject({ value: { events: [], dropped: { through: 3, count: 3 } } })
    await store.events.append({ tenantId: 'a', type: 'after' })
    expect(await events.next()).toMatchObject({ value: { events: [{ seq: 4 }], dropped: null } })
    await events.return(undefined)
  })
}
