import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxView } from '@hearth/contract'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

type Page = { items: SandboxView[]; next: string | null }

describe('sandboxes', () => {
  it('lives from create to delete', async () => {
    const made = await server.sandbox({ metadata: { purpose: 'life' }, ttlMs: 60_000 })
    expect(made).toMatchObject({ state: 'running', rung: 'process', metadata: { purpose: 'life' } })
    const path = `/v1/sandboxes/${made.id}`
    expect(await server.json('GET', path)).toEqual(made)
    const renewed = await server.json<SandboxView>('POST', `${path}/renew`, { json: { ttlMs: 600_000 } })
    expect(Date.parse(renewed.expiresAt ?? '')).toBeGreaterThan(Date.parse(made.expiresAt ?? '') + 500_000)
    expect(await server.json('POST', `${path}/pause`)).toMatchObject({ state: 'paused' })
    expect(await server.json('POST', `${path}/resume`)).toMatchObject({ state: 'running' })
    expect(await server.json('GET', `${path}/stats`)).toMatchObject({
      memoryLimitBytes: 2 ** 30,
      processes: expect.any(Number),
    })
    const stopped = await server.json<SandboxView>('POST', `${path}/stop`)
    expect(stopped).toMatchObject({ id: made.id, state: 'stopped', reason: 'request' })
    expect(await server.json('GET', path)).toEqual(stopped)
    expect(await server.refusal('GET', `${path}/stats`)).toMatchObject({ code: 'sandbox_ended' })
    await server.json('DELETE', path, { status: 204 })
    await server.json('DELETE', path, { status: 204 })
    expect(await server.refusal('GET', path)).toMatchObject({ status: 404, code: 'sandbox_not_found' })
    expect(await server.refusal('POST', `${path}/exec`, { json: { command: 'true' } })).toMatchObject({ status: 404 })
  })

  it('gives the same sandbox for the same idempotency key', async () => {
    const headers = { 'idempotency-key': 'once' }
    const json = { rung: 'simulated', metadata: { a: '1' } }
    const first = await server.json<SandboxView>('POST', '/v1/sandboxes', { json, headers, status: 201 })
    expect(await server.json('POST', '/v1/sandboxes', { json, headers, status: 201 })).toMatchObject({ id: first.id })
    const other = { ...json, metadata: { a: '2' } }
    expect(await server.refusal('POST', '/v1/sandboxes', { json: other, headers })).toMatchObject({
      code: 'idempotency_conflict',
    })
    const bad = { 'idempotency-key': 'x'.repeat(300) }
    expect(await server.refusal('POST', '/v1/sandboxes', { json, headers: bad })).toMatchObject({ status: 400 })
  })

  it('pages and filters the list', async () => {
    const ids = []
    for (let index = 0; index < 5; index++) {
      const { id } = await server.sandbox({ rung: 'simulated', metadata: { set: 'paged', odd: String(index % 2) } })
      ids.push(id)
    }
    const seen: string[] = []
    let cursor = ''
    do {
      const page: Page = await server.json('GET', `/v1/sandboxes?limit=2&metadata.set=paged${cursor}`)
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next === null ? '' : `&cursor=${encodeURIComponent(page.next)}`
    } while (cursor !== '')
    expect(seen.toSorted()).toEqual(ids.toSorted())
    const odd = await server.json<Page>(
      'GET',
      '/v1/sandboxes?metadata.set=paged&metadata.odd=1&state=running&rung=simulated',
    )
    expect(odd.items).toHaveLength(2)
    expect((await server.json<Page>('GET', '/v1/sandboxes?metadata.set=paged&rung=gvisor')).items).toEqual([])
    for (const wrong of ['limit=0', 'limit=x', 'limit=1e2', 'limit=', 'state=happy', 'rung=9', 'cursor=%00nonsense']) {
      expect(await server.refusal('GET', `/v1/sandboxes?${wrong}`), wrong).toMatchObject({ status: 400 })
    }
  })

  it('asks for a scope of its own before something lives for ever', async () => {
    const key = await server.newKey(['sandbox:write'])
    const json = { rung: 'simulated', persistent: true }
    expect(await server.refusal('POST', '/v1/sandboxes', { json, key })).toMatchObject({
      status: 403,
      code: 'forbidden',
    })
    expect(await server.sandbox(json as { rung: 'simulated' })).toMatchObject({ expiresAt: null })
  })

  it('lists the rungs', { timeout: 120_000 }, async () => {
    const { items } = await server.json<{ items: { rung: string; probe: { available: boolean } }[] }>(
      'GET',
      '/v1/rungs',
    )
    expect(items.find(({ rung }) => rung === 'simulated')).toMatchObject({ probe: { available: true } })
  })

  it('names every wrong field of a create', async () => {
    const json = { limits: { cpus: -1, pids: 'many' }, nonsense: true }
    const refusal = await server.refusal('POST', '/v1/sandboxes', { json })
    expect(refusal.message).toMatch(/(^|; )limits\.cpus: /)
    expect(refusal.message).toMatch(/(^|; )limits\.pids: /)
    expect(refusal.message).toContain('nonsense')
  })
})

describe('the log', () => {
  it('has one line for an operation, with who, what and how it went, and no key or body', async () => {
    const { id } = await server.sandbox({ rung: 'simulated' })
    server.lines.length = 0
    const headers = { 'x-request-id': 'mine-1' }
    const answer = await server.call('POST', `/v1/sandboxes/${id}/exec`, { json: { command: 'echo sesame' }, headers })
    expect(answer.headers.get('x-request-id')).toBe('mine-1')
    await answer.text()
    await expect.poll(() => server.lines.length).toBe(1)
    expect(server.lines[0]).toMatchObject({
      event: 'operation',
      operation: 'exec.run',
      outcome: 'ok',
      status: 200,
      requestId: 'mine-1',
      sandbox: id,
      tenant: expect.stringMatching(/^tn_/),
      key: expect.stringMatching(/^key_/),
      durationMs: expect.any(Number),
    })
    const text = JSON.stringify(server.lines)
    expect(text).not.toContain('sesame')
    expect(text).not.toContain(server.key)
    expect(text).not.toContain(server.key.slice(-20))
  })

  it('says what was refused and why', async () => {
    server.lines.length = 0
    await server.refusal('GET', '/v1/sandboxes/nonsense')
    await expect
      .poll(() => server.lines.at(-1))
      .toMatchObject({ operation: 'sandbox.get', outcome: 'refused', code: 'sandbox_not_found', status: 404 })
  })
})
