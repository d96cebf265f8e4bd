import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Grant, GrantRequest, KeyView, SandboxView } from '@hearth/contract'
import { documentedOperations, fillPath } from './testing/document.ts'
import { SAMPLES } from './testing/samples.ts'
import { TestServer } from './testing/test-server.ts'

type NewKey = KeyView & { readonly key: string; readonly grant: Grant }

let server: TestServer
let foreign: SandboxView

beforeAll(async () => {
  server = await TestServer.start({ previewConnectMs: 500 })
  foreign = await server.sandbox({ rung: 'simulated' })
})
afterAll(() => server[Symbol.asyncDispose]())

const delegate = async (grant: GrantRequest, key = server.key): Promise<NewKey> =>
  await server.json<NewKey>('POST', '/v1/keys', { json: { name: 'delegated', grant }, status: 201, key })
const refusal = (key: string, path: string, json: unknown, method = 'POST') =>
  server.refusal(method, path, { json, key })
const simulated = { rung: 'simulated' } as const
const make = (key: string, request: object = {}) => server.sandbox({ ...simulated, ...request }, key)

/** The fields that a refusal names. */
async function beyond(key: string, path: string, json: unknown, method = 'POST'): Promise<string[]> {
  const answer = await server.call(method, path, { json, key })
  const { error } = (await answer.json()) as {
    error: { code: string; context?: { exceeded: { field: string }[] }; message: string }
  }
  expect([answer.status, error.code], error.message).toEqual([403, 'grant_exceeded'])
  return (error.context?.exceeded ?? []).map(({ field }) => field)
}

describe('a delegated key', () => {
  it('makes what its grant allows, and is told which field is more', async () => {
    await server.json('PUT', '/v1/secrets/OTHER', {
      json: { value: 'abcdefgh', binding: { name: 'a.test', placement: { in: 'basic' } } },
    })
    const { key, grant } = await delegate({
      policy: { allow: ['a.test'] },
      limits: { memoryBytes: 64 * 1024 ** 2 },
      templates: ['host'],
      ttlMs: 600_000,
      children: 4,
    })
    expect(grant).toMatchObject({ secrets: [], depth: 0 })
    const made = await make(key, { policy: { allow: ['a.test'] } })
    expect(made.limits.memoryBytes).toBe(64 * 1024 ** 2)
    expect(Date.parse(made.expiresAt ?? '') - Date.parse(made.createdAt)).toBeLessThanOrEqual(600_000)
    const cases: [object, string][] = [
      [{ policy: { allow: ['b.test'] } }, 'policy'],
      [{ policy: { mode: 'audit' } }, 'policy'],
      [{ secrets: [{ secret: 'OTHER' }] }, 'secrets'],
      [{ limits: { memoryBytes: 65 * 1024 ** 2 } }, 'limits.memoryBytes'],
      [{ ttlMs: 601_000 }, 'ttlMs'],
      [{ volumes: [{ volume: 'data', path: '/data' }] }, 'volumes'],
      [{ from: 'sn_00000000000000000000' }, 'snapshots'],
    ]
    for (const [request, field] of cases)
      expect(await beyond(key, '/v1/sandboxes', { ...simulated, ...request }), field).toContain(field)
    const below = `/v1/sandboxes/${made.id}`
    expect(await beyond(key, `${below}/renew`, { ttlMs: 601_000 })).toEqual(['ttlMs'])
    expect(await beyond(key, `${below}/policy`, { allow: ['b.test'] }, 'PUT')).toEqual(['policy'])
    expect(await beyond(key, `${below}/snapshots`, {})).toEqual(['snapshots'])
    expect(await beyond(key, '/v1/keys', { name: 'more', grant: {} })).toEqual(['depth'])
    const persistent = await refusal(key, '/v1/sandboxes', { ...simulated, persistent: true })
    expect(persistent).toMatchObject({ status: 403 })
    await server.json('DELETE', below, { key, status: 204 })
  })

  it('is held to the weakest rung of its grant', async () => {
    const { key } = await delegate({ atLeast: 'process' })
    expect(await beyond(key, '/v1/sandboxes', simulated)).toEqual(['atLeast'])
  })

  it('sees nothing that was not made under it, by no operation', async () => {
    const { key } = await delegate({})
    for (const operation of await documentedOperations(server)) {
      const sample = SAMPLES[operation.id]
      if (sample === undefined || !operation.path.includes('/sandboxes/{id}')) continue
      const path =
        fillPath(operation.path, { id: foreign.id, process: '1', port: '8080', path: 'x' }) + (sample.query ?? '')
      const answer = await server.call(operation.method, path, { ...sample.options, key })
      const { error } = (await answer.json()) as { error: { code: string } }
      expect(['sandbox_not_found', 'grant_exceeded'], operation.id).toContain(error.code)
    }
    expect(await server.json('GET', '/v1/sandboxes', { key })).toEqual({ items: [], next: null })
    expect(await server.json('GET', '/v1/snapshots', { key })).toEqual({ items: [], next: null })
    expect(await server.refusal('GET', '/v1/events', { key })).toMatchObject({ code: 'forbidden' })
    expect(await server.refusal('GET', `/v1/events?sandbox=${foreign.id}`, { key })).toMatchObject({ status: 404 })
    const { items } = await server.json<{ items: KeyView[] }>('GET', '/v1/keys', { key })
    expect(items.map(({ name }) => name)).toEqual(['delegated'])
    const all = await server.json<{ items: KeyView[] }>('GET', '/v1/keys')
    const first = all.items.find(({ name }) => name === 'first')
    expect(await server.refusal('DELETE', `/v1/keys/${first?.id}`, { key })).toMatchObject({ status: 404 })
    for (const path of ['/v1/volumes', '/v1/runs', '/v1/secrets', '/v1/tenants', '/v1/pool'])
      expect(await server.refusal('GET', path, { key }), path).toMatchObject({ status: 403 })
  })

  it('has idempotency keys of its own', async () => {
    const request = { json: simulated, status: 201, headers: { 'idempotency-key': 'same' } }
    const mine = await server.json<SandboxView>('POST', '/v1/sandboxes', request)
    const { key } = await delegate({})
    const theirs = await server.json<SandboxView>('POST', '/v1/sandboxes', { ...request, key })
    expect(theirs.id).not.toBe(mine.id)
    expect(await server.json<SandboxView>('POST', '/v1/sandboxes', { ...request, key })).toMatchObject({
      id: theirs.id,
    })
  })
})

describe('a chain of keys', () => {
  it('is counted together, and each level sees what is below it', async () => {
    const top = await delegate({ depth: 2, children: 3 })
    const middle = await delegate({ depth: 1, children: 3 }, top.key)
    const last = await delegate({ children: 2 }, middle.key)
    const [a, b, c] = [await make(top.key), await make(middle.key), await make(last.key)]
    expect(await beyond(last.key, '/v1/sandboxes', simulated)).toEqual(['children'])
    const seen = async (key: string): Promise<string[]> =>
      (await server.json<{ items: SandboxView[] }>('GET', '/v1/sandboxes', { key })).items.map(({ id }) => id)
    expect(new Set(await seen(top.key))).toEqual(new Set([a.id, b.id, c.id]))
    expect(new Set(await seen(middle.key))).toEqual(new Set([b.id, c.id]))
    expect(await seen(last.key)).toEqual([c.id])
    expect(await server.refusal('GET', `/v1/sandboxes/${b.id}`, { key: last.key })).toMatchObject({ status: 404 })
    expect(await beyond(middle.key, '/v1/keys', { name: 'x', grant: { depth: 1 } })).toEqual(['depth'])
    // What ends makes room, and the revocation of one in the middle ends all below it, with their sandboxes.
    await server.json('DELETE', `/v1/keys/${middle.id}`, { key: top.key, status: 204 })
    for (const { key } of [middle, last])
      expect(await server.refusal('GET', '/v1/sandboxes', { key })).toMatchObject({ status: 401 })
    expect(await seen(top.key)).toEqual([a.id])
    await make(top.key)
  })

  it('shares the time of its sandboxes, and gives back what was not used', async () => {
    const top = await delegate({ depth: 1, budget: { wallTimeMs: 100_000 } })
    const below = await delegate({}, top.key)
    const made = await make(below.key, { ttlMs: 60_000 })
    expect(await beyond(top.key, '/v1/sandboxes', { ...simulated, ttlMs: 41_000 })).toEqual(['budget.wallTimeMs'])
    expect(await beyond(below.key, `/v1/sandboxes/${made.id}/renew`, { ttlMs: 101_000 })).toEqual(['budget.wallTimeMs'])
    await server.json('DELETE', `/v1/sandboxes/${made.id}`, { key: below.key, status: 204 })
    await make(top.key, { ttlMs: 90_000 })
  })

  it('ends at the deadline of its first, with all that was made', async () => {
    const deadline = new Date(Date.now() + 60_000).toISOString()
    const top = await delegate({ depth: 1, deadline })
    const below = await delegate({}, top.key)
    expect([top.expiresAt, below.expiresAt]).toEqual([deadline, deadline])
    expect(await beyond(top.key, '/v1/keys', { name: 'x', grant: { deadline: null } })).toEqual(['deadline'])
    const made = await make(below.key)
    expect(Date.parse(made.expiresAt ?? '')).toBeLessThanOrEqual(Date.parse(deadline))
    expect(await beyond(below.key, `/v1/sandboxes/${made.id}/renew`, { ttlMs: 61_000 })).toEqual(['deadline'])
  })

  it('has no scope that a grant cannot hold, and none that its maker has not', async () => {
    const wide = (scopes: string[], key = server.key) =>
      server.call('POST', '/v1/keys', { json: { name: 'x', scopes, grant: {} }, key })
    for (const scope of ['admin', 'operator', 'secrets', 'workspaces', 'sandbox:persistent'])
      expect(await (await wide([scope])).json(), scope).toMatchObject({ error: { code: 'grant_exceeded' } })
    const reader = await server.newKey(['sandbox:read', 'keys'])
    expect((await wide(['exec'], reader)).status).toBe(403)
    expect((await delegate({}, reader)).scopes).toEqual(['sandbox:read', 'keys'])
  })
})
