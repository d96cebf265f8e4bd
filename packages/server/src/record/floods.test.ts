import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RecordEntry, SandboxId } from '@hearth/contract'
import { TestHome, type TestServer } from '../lifecycle/test-server.ts'
import type { StoredEvent } from '../state/index.ts'
import { Records } from './records.ts'

const refusal = (name: string): RecordEntry => ({
  kind: 'refusal',
  process: null,
  name,
  port: 443,
  refusal: 'name_not_allowed',
  message: 'the policy does not allow it',
})
const request = (name: string): RecordEntry => ({
  kind: 'request',
  process: 1,
  name,
  port: 443,
  named: true,
  method: 'POST',
  path: '/',
  status: 200,
  secrets: [],
})
const file = (path: string): RecordEntry => ({ kind: 'file', process: null, path, change: 'added' })

describe('a guest that floods its record', () => {
  let home: TestHome
  let server: TestServer
  beforeAll(async () => {
    home = await TestHome.make()
    server = await home.start()
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await home[Symbol.asyncDispose]()
  })

  const newId = async (): Promise<SandboxId> => (await server.create({ rung: 'simulated' })).id as SandboxId
  const timeline = async (sandboxId: string): Promise<readonly StoredEvent[]> =>
    (await server.store.events.page({ sandboxId, limit: 1000 })).events
  const ofType = (events: readonly StoredEvent[], type: string): StoredEvent[] =>
    events.filter((event) => event.type === type)

  it('hides nothing of another kind', async () => {
    const records = new Records(server.store, { perSecond: 0.001, burst: 5 })
    const id = await newId()
    for (let index = 0; index < 50; index++) {
      records.of(id).add(refusal(`n${index}.test`))
      records.of(id).add(file(`/tmp/${index}`))
    }
    records.of(id).add(request('after.test'))
    await records.close()
    const events = await timeline(id)
    expect(ofType(events, 'network.request')).toMatchObject([{ data: { name: 'after.test' } }])
    expect(ofType(events, 'network.refused')).toHaveLength(5)
    expect(ofType(events, 'file.changed')).toHaveLength(5)
    expect(ofType(events, 'record.dropped')).toMatchObject([{ data: { kinds: { refusal: 45, file: 45 } } }])
  })

  it('does not hide where its traffic went', async () => {
    const records = new Records(server.store, { perSecond: 0.001, burst: 2 })
    const id = await newId()
    for (let index = 0; index < 10; index++) records.of(id).add(request('flood.test'))
    records.of(id).add(request('hidden.test'))
    for (let index = 0; index < 100; index++) records.of(id).add(request(`n${index}.test`))
    await records.close()
    const [dropped] = ofType(await timeline(id), 'record.dropped')
    const places = dropped?.data['places'] as Record<string, number>
    expect(places).toMatchObject({ 'flood.test:443': 8, 'hidden.test:443': 1, others: 100 - 62 })
  })

  it.each([
    ['refusals', refusal, 'network.refused', 10],
    ['files', file, 'file.changed', 20],
    ['traffic', request, 'network.request', 40],
  ] as const)('fills but a part of it with %s in an hour', async (_, entry, type, most) => {
    const records = new Records(server.store, { keep: 100 })
    const id = await newId()
    records.of(id).add(request('before.test'))
    for (let index = 0; index < 500; index++) {
      records.of(id).add(entry(`n${index}.test`))
      if (index % 20 === 0) await records.flush()
    }
    await records.close()
    const events = await timeline(id)
    expect(ofType(events, type)).toHaveLength(most)
    expect(ofType(events, 'network.request')[0]).toMatchObject({ data: { name: 'before.test' } })
    expect(ofType(events, 'sandbox.created')).toHaveLength(1)
  })

  it('has equal refusals as one entry, with their number', async () => {
    const records = new Records(server.store, { countMs: 50 })
    const id = await newId()
    for (let index = 0; index < 100; index++) records.of(id).add(refusal('again.test'))
    records.of(id).add(refusal('once.test'))
    const repeated = async (): Promise<unknown[]> =>
      ofType(await timeline(id), 'network.refused').map(({ data }) => [data['name'], data['repeated']])
    await expect.poll(repeated).toEqual([
      ['again.test', undefined],
      ['once.test', undefined],
      ['again.test', 99],
    ])
    records.of(id).add(refusal('again.test'))
    records.of(id).add(refusal('again.test'))
    // What was counted when the server ends is written too.
    await records.close()
    expect((await repeated()).slice(3)).toEqual([
      ['again.test', undefined],
      ['again.test', 1],
    ])
  })
})
