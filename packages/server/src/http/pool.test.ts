import type { PoolReport } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

describe('the pool of a host', () => {
  it('is shown to operators, and changed by them', async () => {
    const off = { memoryBytes: 0, heldBytes: 0, waiting: 0, claimed: 0, missed: 0, shapes: [] }
    expect(await server.json<PoolReport>('GET', '/v1/pool')).toEqual(off)
    const set = await server.json<PoolReport>('PUT', '/v1/pool', { json: { memoryBytes: 64 * 1024 ** 2 } })
    expect(set).toEqual({ ...off, memoryBytes: 64 * 1024 ** 2 })
    expect(await server.json<PoolReport>('GET', '/v1/pool')).toEqual(set)
    const metrics = await (await server.call('GET', '/metrics', { key: null })).text()
    expect(metrics).toContain('hearth_pool_memory_bytes 67108864')
    expect(metrics).toContain('hearth_pool_machines 0')
    expect(metrics).toContain('hearth_pool_creates_total{outcome="claimed"} 0')
  })

  it('is nothing for the keys of tenants', async () => {
    const key = await server.newKey(['admin'])
    for (const method of ['GET', 'PUT'] as const) {
      const json = method === 'PUT' ? { json: { memoryBytes: 1 } } : {}
      expect((await server.call(method, '/v1/pool', { key, ...json })).status).toBe(403)
    }
  })

  it.each([{}, { memoryBytes: -1 }, { memoryBytes: 0.5 }, { memoryBytes: 2 ** 52 }, { memoryBytes: 0, more: 1 }])(
    'refuses %j',
    async (json) => {
      expect((await server.call('PUT', '/v1/pool', { json })).status).toBe(400)
    },
  )
})
