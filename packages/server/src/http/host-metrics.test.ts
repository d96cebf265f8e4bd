import { afterAll, beforeAll, expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start({}, { admission: { sandboxes: 2 } })
})
afterAll(() => server[Symbol.asyncDispose]())

async function metrics(): Promise<string[]> {
  const text = await (await server.call('GET', '/metrics')).text()
  return text.split('\n').filter((line) => /^hearth_(sandboxes|host|failed|record)/.test(line))
}

it('tells sandboxes by state and rung, what is left of the host, refusals and rounds that failed', async () => {
  const { id } = await server.sandbox({ rung: 'simulated' })
  await server.sandbox({ rung: 'process' })
  const full = await server.call('POST', '/v1/sandboxes', { json: { rung: 'simulated' } })
  expect(full.status).toBe(503)
  expect(await full.json()).toMatchObject({
    error: { code: 'host_full', retryable: true, context: { resource: 'sandboxes', left: 0, needed: 1 } },
  })
  // As when the database is away for a moment.
  server.store.hosts.heartbeat = () => Promise.reject(new Error('away'))
  await server.plane.reconcile()
  const lines = await metrics()
  expect(lines).toEqual(
    expect.arrayContaining([
      'hearth_sandboxes{state="running",rung="simulated"} 1',
      'hearth_sandboxes{state="running",rung="process"} 1',
      'hearth_host_full_total{resource="sandboxes"} 1',
      'hearth_failed_rounds_total{part="heartbeat"} 1',
    ]),
  )
  for (const resource of ['memory_bytes', 'disk_bytes', 'processes']) {
    const line = lines.find((each) => each.startsWith(`hearth_host_headroom{resource="${resource}"}`))
    expect(Number(line?.split(' ').at(-1)), resource).toBeGreaterThan(0)
  }
  await server.json('POST', `/v1/sandboxes/${id}/stop`)
  expect(await metrics()).not.toContain('hearth_sandboxes{state="running",rung="simulated"} 1')
})
