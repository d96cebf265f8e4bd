import { DEFAULT_QUOTAS, type KeyView, type QuotasView, type SandboxView } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start()
})
afterAll(() => server[Symbol.asyncDispose]())

const simulated = { rung: 'simulated' } as const

async function tenantWithKey(name: string): Promise<{ id: string; key: string; keyId: string }> {
  const { id } = await server.json<{ id: string }>('POST', '/v1/tenants', { json: { name }, status: 201 })
  const json = { name: 'first' }
  const made = await server.json<{ id: string; key: string }>('POST', `/v1/tenants/${id}/keys`, { json, status: 201 })
  return { id, key: made.key, keyId: made.id }
}

describe('quotas', () => {
  it('are shown to their tenant with what is in use, and to operators', async () => {
    const { id, key } = await tenantWithKey('seen')
    const before = await server.json<QuotasView>('GET', '/v1/quotas', { key })
    expect(before).toMatchObject({ tenant: { id, name: 'seen' }, limits: DEFAULT_QUOTAS, usage: { sandboxes: 0 } })
    const { limits } = await server.sandbox(simulated, key)
    const { cpus, memoryBytes, diskBytes } = limits
    const usage = { sandboxes: 1, cpus, memoryBytes, diskBytes, snapshots: 0, volumes: 0 }
    expect(await server.json('GET', '/v1/quotas', { key })).toEqual({ ...before, usage })
    expect(await server.json('GET', `/v1/tenants/${id}/quotas`)).toEqual({ ...before, usage })
    expect(await server.refusal('GET', `/v1/tenants/${id}/quotas`, { key })).toMatchObject({ status: 403 })
    expect(await server.refusal('GET', '/v1/tenants/tn_none/quotas')).toMatchObject({ status: 404 })
  })

  it('name the command that raises them when they are full', async () => {
    const { id, key } = await tenantWithKey('full')
    await server.json('PATCH', `/v1/tenants/${id}/quotas`, { json: { sandboxes: 0 } })
    const answer = await server.call('POST', '/v1/sandboxes', { json: simulated, key })
    const { error } = (await answer.json()) as { error: { message: string; suggestion: string; context: object } }
    expect(error).toMatchObject({
      message: 'quota sandboxes: 0 of 0 are in use, and 1 more are asked for',
      suggestion: expect.stringContaining('hearth tenant quota full --sandboxes'),
      context: { quota: 'sandboxes', limit: 0, used: 0, wanted: 1 },
    })
  })
})

describe('keys of another tenant', () => {
  it('are listed and revoked by operators, and by no other tenant', async () => {
    const { id, key, keyId } = await tenantWithKey('watched')
    const { key: stranger } = await tenantWithKey('stranger')
    const path = `/v1/tenants/${id}/keys`
    expect((await server.json<{ items: KeyView[] }>('GET', path)).items.map((each) => each.id)).toEqual([keyId])
    for (const [method, at] of [
      ['GET', path],
      ['DELETE', `${path}/${keyId}`],
    ] as const) {
      expect(await server.refusal(method, at, { key: stranger })).toMatchObject({ status: 403 })
    }
    const [own] = (await server.json<{ items: KeyView[] }>('GET', '/v1/keys')).items
    expect(await server.refusal('DELETE', `${path}/${own?.id}`)).toMatchObject({ status: 404 })
    await server.json('DELETE', `${path}/${keyId}`, { status: 204 })
    expect(await server.refusal('GET', '/v1/quotas', { key })).toMatchObject({ status: 401 })
    const json = { name: 'k', grant: {} }
    expect(await server.refusal('POST', path, { json })).toMatchObject({ status: 400 })
  })
})

describe('the end of a tenant', () => {
  it('waits until it holds nothing, and takes its keys, secrets, runs and events along', async () => {
    const { id, key } = await tenantWithKey('leaving')
    const sandbox = await server.sandbox(simulated, key)
    const binding = { name: 'api.example.com', placement: { in: 'header', header: 'authorization' } }
    await server.json('PUT', '/v1/secrets/TOKEN', { json: { value: 'secret-value', binding }, key })
    const budget = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }
    await server.json('POST', '/v1/runs', { json: { task: 'x', model: 'm', budget, owner: 'o' }, key, status: 201 })
    const path = `/v1/tenants/${id}`
    expect(await server.refusal('DELETE', path)).toMatchObject({
      status: 409,
      message: expect.stringContaining('1 sandboxes'),
    })
    expect(await server.refusal('DELETE', path, { key })).toMatchObject({ status: 403 })
    await server.json('POST', `/v1/sandboxes/${sandbox.id}/stop`, { key })
    await server.json('DELETE', path, { status: 204 })
    expect(await server.refusal('GET', '/v1/sandboxes', { key })).toMatchObject({ status: 401 })
    expect(await server.refusal('DELETE', path)).toMatchObject({ status: 404 })
    const { events } = await server.store.events.page({ tenantId: id, after: 0, limit: 10 })
    expect(events).toEqual([])
    expect(await server.store.sandboxes.find(sandbox.id)).toBeNull()
    // The name is free again.
    await server.json('POST', '/v1/tenants', { json: { name: 'leaving' }, status: 201 })
  })

  it('is not for the tenant of the key that asks', async () => {
    const { tenant } = await server.json<QuotasView>('GET', '/v1/quotas')
    expect(await server.refusal('DELETE', `/v1/tenants/${tenant.id}`)).toMatchObject({ status: 409, code: 'conflict' })
    expect(await server.json<SandboxView[]>('GET', '/v1/sandboxes')).toBeDefined()
  })
})
