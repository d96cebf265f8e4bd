import type { RunLeaseView, RunView } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

const BUDGET = { steps: 10, tokens: 1000, dollars: null, wallTimeMs: 60_000 }
const GIVEN = { task: 'fix it', model: 'scripted', budget: BUDGET, owner: 'one' }
const BEGIN = { type: 'started', run: 'r', task: 't', model: 'm', workdir: '/w', verify: null, budget: BUDGET }
const EVENTS = [
  { ...BEGIN, base: { missing: 'none' }, seq: 0, at: 1 },
  { type: 'stopped', reason: 'stopped', detail: '', seq: 1, at: 2 },
]

async function made(): Promise<{ run: RunView; lease: RunLeaseView }> {
  return await server.json('POST', '/v1/runs', { json: GIVEN, status: 201 })
}

describe('runs over HTTP', () => {
  it('is written down, and told in the record', async () => {
    const { run, lease } = await made()
    expect(lease).toMatchObject({ run: run.id, lease: 1 })
    const path = `/v1/runs/${run.id}`
    const append = { lease: lease.lease, events: EVENTS }
    expect(await server.refusal('POST', `${path}/events`, { json: { ...append, lease: 2 } })).toMatchObject({
      code: 'conflict',
    })
    await server.json('POST', `${path}/events`, { json: append, status: 204 })
    await server.json('POST', `${path}/events`, { json: append, status: 204 })
    expect(await server.json('GET', `${path}/events`)).toEqual({ items: EVENTS, next: 2, end: true })
    expect(await server.json('GET', `${path}/events?from=1&limit=1`)).toMatchObject({ items: [EVENTS[1]], next: 2 })
    expect(await server.json('GET', path)).toMatchObject({ state: 'stopped', reason: 'stopped', events: 2 })
    const { items } = await server.json<{ items: { type: string; data: { run?: string } }[] }>('GET', '/v1/events')
    const told = items.filter(({ data }) => data.run === run.id).map(({ type }) => type)
    expect(told).toEqual(['run.created', 'run.stopped'])
  })

  it('refuses what is no event, too many of them, and what is too large', async () => {
    const { run } = await made()
    const append = async (json: object) => await server.refusal('POST', `/v1/runs/${run.id}/events`, { json })
    const event = { type: 'steered', text: 'x', seq: 0, at: 1 }
    for (const wrong of [{ ...event, type: 'other' }, { ...event, more: 1 }, { ...event, seq: -1 }, null]) {
      expect(await append({ lease: 1, events: [wrong] })).toMatchObject({ code: 'invalid_request' })
    }
    const many = Array.from({ length: 1001 }, (_, seq) => ({ ...event, seq }))
    expect(await append({ lease: 1, events: many })).toMatchObject({ code: 'invalid_request' })
    const large = { ...event, text: 'x'.repeat(33 * 1024 * 1024) }
    expect(await append({ lease: 1, events: [large] })).toMatchObject({ status: 413 })
    for (const json of [
      { ...GIVEN, task: 'x'.repeat(200_001) },
      { ...GIVEN, owner: 'a b' },
      { ...GIVEN, leaseMs: 600_001 },
      { ...GIVEN, metadata: Object.fromEntries(many.slice(0, 65).map(({ seq }) => [`k${seq}`, ''])) },
    ]) {
      expect(await server.refusal('POST', '/v1/runs', { json })).toMatchObject({ code: 'invalid_request' })
    }
    const tell = async (json: object) => await server.refusal('POST', `/v1/runs/${run.id}/messages`, { json })
    expect(await tell({ kind: 'steer', text: 'x'.repeat(65_537) })).toMatchObject({ code: 'invalid_request' })
    expect(await tell({ kind: 'steer' })).toMatchObject({ code: 'invalid_request' })
  })

  it('is taken by one at a time', async () => {
    const { run } = await made()
    const path = `/v1/runs/${run.id}/lease`
    expect(await server.refusal('POST', path, { json: { owner: 'two' } })).toMatchObject({ code: 'conflict' })
    const held = await server.json<RunLeaseView>('POST', path, { json: { owner: 'one', lease: 1, leaseMs: 600_000 } })
    expect(Date.parse(held.until)).toBeGreaterThan(Date.now() + 500_000)
    await server.json('DELETE', `${path}?lease=1`, { status: 204 })
    expect(await server.json('POST', path, { json: { owner: 'two' } })).toMatchObject({ lease: 2 })
    await server.json('DELETE', `${path}?lease=1`, { status: 204 })
    expect(await server.json('POST', path, { json: { owner: 'three', force: true } })).toMatchObject({ lease: 3 })
  })

  it('streams what happens and what it is told', async () => {
    const { run } = await made()
    const path = `/v1/runs/${run.id}`
    const abort = new AbortController()
    const open = async (below: string): Promise<Response> =>
      await server.call('GET', path + below, { headers: { accept: 'text/event-stream' }, signal: abort.signal })
    const [events, messages] = await Promise.all([open('/events?from=1'), open('/messages?after=1')])
    await server.json('POST', `${path}/messages`, { json: { kind: 'pause' }, status: 201 })
    await server.json('POST', `${path}/messages`, { json: { kind: 'steer', text: 'left' }, status: 201 })
    await server.json('POST', `${path}/events`, { json: { lease: 1, events: EVENTS }, status: 204 })
    expect(await firstOf(events)).toEqual(EVENTS[1])
    expect(await firstOf(messages)).toMatchObject({ number: 2, kind: 'steer', text: 'left' })
    expect(await server.json('GET', `${path}/messages`)).toMatchObject({ items: [{ number: 1 }, { number: 2 }] })
    abort.abort()
  })
})

async function firstOf(answer: Response): Promise<unknown> {
  let text = ''
  for await (const chunk of answer.body ?? []) {
    text += Buffer.from(chunk).toString()
    const data = /^data: (.*)$/m.exec(text)?.[1]
    if (data !== undefined && text.includes('\n\n')) return JSON.parse(data)
  }
  return null
}
