import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { EventView } from '@hearth/contract'
import { readEvents } from './testing/events.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

interface Page {
  items: EventView[]
  next: number
}

describe('events', () => {
  it('pages through what happened', async () => {
    const { id } = await server.sandbox({ rung: 'simulated' })
    await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
    const all = await server.json<Page>('GET', `/v1/events?sandbox=${id}`)
    expect(all.items.length).toBeGreaterThan(1)
    expect(all.items.every(({ sandbox }) => sandbox === id)).toBe(true)
    const first = await server.json<Page>('GET', `/v1/events?sandbox=${id}&limit=1`)
    const second = await server.json<Page>('GET', `/v1/events?sandbox=${id}&limit=1&after=${first.next}`)
    expect([first.items[0], second.items[0]]).toEqual(all.items.slice(0, 2))
    expect(await server.refusal('GET', '/v1/events?limit=100000')).toMatchObject({ status: 400 })
    expect(await server.refusal('GET', '/v1/events?sandbox=nonsense')).toMatchObject({ status: 400 })
  })

  it('gives the newest without all that came before them', async () => {
    const { id } = await server.sandbox({ rung: 'simulated' })
    await server.json('POST', `/v1/sandboxes/${id}/stop`)
    const { items } = await server.json<Page>('GET', `/v1/events?sandbox=${id}`)
    const newest = await server.json<Page>('GET', `/v1/events?sandbox=${id}&last=2`)
    expect([newest.items, newest.next]).toEqual([items.slice(-2), items.at(-1)?.seq])
    const before = await server.json<Page>('GET', `/v1/events?sandbox=${id}&last=1&before=${newest.items[0]?.seq}`)
    expect(before.items).toEqual(items.slice(-3, -2))
    const after = await server.json<Page>('GET', `/v1/events?sandbox=${id}&last=9&after=${items.at(-2)?.seq}`)
    expect(after.items).toEqual(items.slice(-1))
    expect((await server.json<Page>('GET', `/v1/events?sandbox=${id}&last=9&after=${newest.next}`)).items).toEqual([])
    for (const query of ['last=0', 'last=1001', 'before=5']) {
      expect(await server.refusal('GET', `/v1/events?${query}`), query).toMatchObject({ status: 400 })
    }
    const headers = { accept: 'text/event-stream' }
    expect(await server.refusal('GET', '/v1/events?last=1', { headers })).toMatchObject({ status: 400 })
  })

  it('follows what happens, from now or from a position', async () => {
    const headers = { accept: 'text/event-stream' }
    const live = readEvents<EventView>(await server.call('GET', '/v1/events', { headers }))
    expect((await live.next()).value).toMatchObject({ type: 'following', after: expect.any(Number) })
    const { id } = await server.sandbox({ rung: 'simulated' })
    const event = (await live.next()).value
    expect(event).toMatchObject({ sandbox: id })
    await live.return()
    const again = readEvents<EventView>(
      await server.call('GET', `/v1/events?after=${(event?.seq ?? 1) - 1}`, { headers }),
    )
    await again.next()
    expect((await again.next()).value).toEqual(event)
    await again.return()
    const resumed = readEvents<EventView>(
      await server.call('GET', '/v1/events', {
        headers: { ...headers, 'last-event-id': String((event?.seq ?? 1) - 1) },
      }),
    )
    await resumed.next()
    expect((await resumed.next()).value).toEqual(event)
    await resumed.return()
  })
})
