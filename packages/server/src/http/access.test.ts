import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES, type KeyView, type SandboxView } from '@hearth/contract'
import { documentedOperations, fillPath, type DocumentedOperation } from './testing/document.ts'
import { SAMPLES } from './testing/samples.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let sandbox: SandboxView
let run: string
let operations: DocumentedOperation[]

beforeAll(async () => {
  server = await TestServer.start({ previewConnectMs: 500 })
  sandbox = await server.sandbox({ rung: 'simulated' })
  operations = await documentedOperations(server)
  const budget = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }
  const json = { task: 'x', model: 'm', budget, owner: 'o' }
  run = (await server.json<{ run: { id: string } }>('POST', '/v1/runs', { json, status: 201 })).run.id
})
afterAll(() => server[Symbol.asyncDispose]())

const pathOf = (operation: DocumentedOperation): string =>
  fillPath(operation.path, { id: sandbox.id, process: '1', port: '8080', path: 'x', run }) +
  (SAMPLES[operation.id]?.query ?? '')
const below = (): DocumentedOperation[] => operations.filter(({ path }) => path.includes('/sandboxes/{id}'))

describe('tenants', () => {
  it('sees nothing of another tenant: every call with its sandbox is not found', async () => {
    const key = await server.newKey(['admin'], 'stranger')
    for (const operation of below()) {
      const sample = SAMPLES[operation.id]
      if (sample === undefined) throw new Error(`no sample for ${operation.id}`)
      const answer = await server.call(operation.method, pathOf(operation), { ...sample.options, key })
      const body = (await answer.json()) as { error: { code: string } }
      expect([answer.status, body.error.code], operation.id).toEqual([404, 'sandbox_not_found'])
    }
    expect(await server.json('GET', '/v1/sandboxes', { key })).toEqual({ items: [], next: null })
    expect(await server.json('GET', '/v1/events', { key })).toMatchObject({ items: [] })
    expect(await server.json('GET', `/v1/events?sandbox=${sandbox.id}`, { key })).toMatchObject({ items: [] })
    const own = await server.json<{ items: KeyView[] }>('GET', '/v1/keys')
    const [first] = own.items
    expect(await server.refusal('DELETE', `/v1/keys/${first?.id}`, { key })).toMatchObject({ status: 404 })
    expect((await server.json<SandboxView>('GET', `/v1/sandboxes/${sandbox.id}`)).state).toBe('running')
  })

  it('does not tell a sandbox of another tenant from one that never was', async () => {
    const key = await server.newKey(['admin'], 'stranger')
    const never = 'sb_00000000000000000000'
    for (const id of [sandbox.id, never, 'nonsense', '..%2f', '%00', 'sb_', sandbox.id.toUpperCase()]) {
      expect(await server.refusal('GET', `/v1/sandboxes/${id}`, { key }), id).toMatchObject({
        status: 404,
        code: 'sandbox_not_found',
      })
    }
  })

  it('sees nothing of the runs of another', async () => {
    const key = await server.newKey(['admin'], 'stranger')
    const ofRuns = operations.filter(({ path }) => path.includes('/runs/{run}'))
    expect(ofRuns.length).toBeGreaterThan(6)
    for (const operation of ofRuns) {
      for (const accept of ['application/json', 'text/event-stream']) {
        const sample = SAMPLES[operation.id]
        if (sample === undefined) throw new Error(`no sample for ${operation.id}`)
        const options = { ...sample.options, key, headers: { accept } }
        const refused = await server.refusal(operation.method, pathOf(operation), options)
        expect([refused.status, refused.code], operation.id).toEqual([404, 'run_not_found'])
      }
    }
    expect(await server.json('GET', '/v1/runs', { key })).toEqual({ items: [], next: null })
    // The same identifier is another run there, and its parent cannot be one of here.
    const budget = { steps: 1, tokens: 1, dollars: null, wallTimeMs: 1 }
    const json = { task: 'x', model: 'm', budget, owner: 'p' }
    expect(await server.refusal('POST', '/v1/runs', { key, json: { ...json, parent: run } })).toMatchObject({
      code: 'run_not_found',
    })
    await server.json('POST', '/v1/runs', { key, json: { ...json, id: run }, status: 201 })
    expect(await server.json('GET', `/v1/runs/${run}`)).toMatchObject({ driver: { owner: 'o' } })
  })

  it('is managed by operators alone', async () => {
    const admin = await server.newKey(['admin'], 'stranger')
    expect(await server.refusal('GET', '/v1/tenants', { key: admin })).toMatchObject({ status: 403 })
    const made = await server.json<{ id: string }>('POST', '/v1/tenants', {
      json: { name: 'fresh', quotas: { sandboxes: 1 } },
      status: 201,
    })
    expect(await server.refusal('POST', '/v1/tenants', { json: { name: 'fresh' } })).toMatchObject({ code: 'conflict' })
    const { key } = await server.json<{ key: string }>('POST', `/v1/tenants/${made.id}/keys`, {
      json: { name: 'k' },
      status: 201,
    })
    await server.sandbox({ rung: 'simulated' }, key)
    expect(await server.refusal('POST', '/v1/sandboxes', { json: { rung: 'simulated' }, key })).toMatchObject({
      status: 429,
      code: 'quota_exceeded',
    })
    await server.json('PATCH', `/v1/tenants/${made.id}/quotas`, { json: { sandboxes: 2 } })
    await server.sandbox({ rung: 'simulated' }, key)
    expect(await server.refusal('POST', '/v1/tenants/tn_none/keys', { json: { name: 'k' } })).toMatchObject({
      status: 404,
    })
  })
})

describe('keys', () => {
  it('is needed for everything below /v1', async () => {
    for (const operation of operations.filter(({ isPublic }) => !isPublic)) {
      const answer = await server.call(operation.method, pathOf(operation), {
        ...SAMPLES[operation.id]?.options,
        key: null,
      })
      await answer.text()
      expect([answer.status, answer.headers.get('www-authenticate')], operation.id).toEqual([401, 'Bearer'])
    }
    for (const key of [
      '',
      'x',
      'hearth_',
      `${server.key}x`,
      server.key.slice(0, -1),
      server.key.toUpperCase(),
      server.key.replace(/.$/, '%'),
    ]) {
      expect(await server.refusal('GET', '/v1/sandboxes', { key }), key).toMatchObject({
        status: 401,
        code: 'unauthorized',
      })
    }
    expect(
      await server.refusal('GET', '/v1/sandboxes', { key: null, headers: { authorization: `Basic ${server.key}` } }),
    ).toMatchObject({ status: 401 })
    expect(await server.refusal('GET', `/v1/sandboxes?key=${server.key}`, { key: null })).toMatchObject({ status: 401 })
  })

  it('may do what its scopes say and nothing else', async () => {
    for (const operation of operations.filter(({ scope }) => scope !== null)) {
      const scopes = SCOPES.filter((scope) => scope !== operation.scope && scope !== 'admin' && scope !== 'operator')
      const options = { ...SAMPLES[operation.id]?.options, key: await server.newKey(scopes) }
      const answer = await server.call(operation.method, pathOf(operation), options)
      const body = (await answer.json()) as { error: { code: string; message: string } }
      expect([answer.status, body.error.code], operation.id).toEqual([403, 'forbidden'])
      expect(body.error.message).toContain(operation.scope)
    }
  })

  it('makes no key that may do more or lives longer than itself', async () => {
    const make = (json: object, key: string) => server.call('POST', '/v1/keys', { json, key })
    const limited = await server.newKey(['keys', 'exec'])
    expect((await make({ name: 'x', scopes: ['files'] }, limited)).status).toBe(403)
    expect((await make({ name: 'x', scopes: ['admin'] }, limited)).status).toBe(403)
    expect(await (await make({ name: 'x' }, limited)).json()).toMatchObject({
      scopes: ['keys', 'exec'],
      expiresAt: null,
    })
    const admin = await server.newKey(['admin'])
    expect((await make({ name: 'x', scopes: ['operator'] }, admin)).status).toBe(403)
    const short = (await (
      await make({ name: 'short', scopes: ['keys'], expiresInMs: 60_000 }, admin)
    ).json()) as KeyView & { key: string }
    const child = (await (await make({ name: 'child', expiresInMs: 600_000 }, short.key)).json()) as KeyView
    expect(child.expiresAt).toBe(short.expiresAt)
    const all = await server.json<{ items: KeyView[] }>('GET', '/v1/keys?limit=1000', { key: admin })
    expect(JSON.stringify(all)).not.toContain(short.key.slice(-30))
    const operator = all.items.find(({ name }) => name === 'first')
    expect(await server.refusal('DELETE', `/v1/keys/${operator?.id}`, { key: admin })).toMatchObject({ status: 403 })
  })

  it('is listed in pages, and so are tenants and secrets', async () => {
    const own = await server.json<{ id: string }>('POST', '/v1/tenants', { json: { name: 'paged' }, status: 201 })
    const names = ['one', 'two', 'three']
    for (const name of names) {
      await server.json('POST', `/v1/tenants/${own.id}/keys`, { json: { name }, status: 201 })
      await server.json('POST', '/v1/tenants', { json: { name: `paged-${name}` }, status: 201 })
    }
    const key = await server.newKey(['admin'], 'paged')
    const binding = { name: 'api.example.com', placement: { in: 'header', header: 'authorization' } }
    for (const name of names) {
      await server.json('PUT', `/v1/secrets/${name}`, { json: { value: 'a-value-of-some-length', binding }, key })
    }
    const listed = async (path: string, by: string): Promise<string[]> => {
      const found: string[] = []
      let cursor: string | null = ''
      while (cursor !== null) {
        const query: string = cursor === '' ? '' : `&cursor=${cursor}`
        const page: { items: { name: string }[]; next: string | null } = await server.json(
          'GET',
          `${path}?limit=2${query}`,
          { key: by },
        )
        expect(page.items.length).toBeLessThanOrEqual(2)
        found.push(...page.items.map(({ name }) => name))
        cursor = page.next
      }
      expect(await server.refusal('GET', `${path}?cursor=wrong`, { key: by })).toMatchObject({ status: 400 })
      expect(await server.refusal('GET', `${path}?limit=1001`, { key: by })).toMatchObject({ status: 400 })
      return found
    }
    expect((await listed('/v1/keys', key)).toSorted()).toEqual(['one', 'test', 'three', 'two'])
    expect((await listed(`/v1/tenants/${own.id}/keys`, server.key)).toSorted()).toEqual(['one', 'test', 'three', 'two'])
    expect((await listed('/v1/tenants', server.key)).filter((name) => name.startsWith('paged'))).toEqual([
      'paged',
      ...names.map((name) => `paged-${name}`),
    ])
    expect(await listed('/v1/secrets', key)).toEqual(names.toSorted())
  })

  it('ends at once when it is revoked, and on time when it expires', async () => {
    const made = await server.json<KeyView & { key: string }>('POST', '/v1/keys', {
      json: { name: 'gone', scopes: ['sandbox:read'] },
      status: 201,
    })
    await server.json('GET', '/v1/sandboxes', { key: made.key })
    await server.json('DELETE', `/v1/keys/${made.id}`, { status: 204 })
    expect(await server.refusal('GET', '/v1/sandboxes', { key: made.key })).toMatchObject({
      status: 401,
      message: expect.stringContaining('revoked'),
    })
    const brief = await server.json<{ key: string }>('POST', '/v1/keys', {
      json: { name: 'brief', expiresInMs: 1000 },
      status: 201,
    })
    await server.json('GET', '/v1/sandboxes', { key: brief.key })
    await expect
      .poll(async () => (await server.call('GET', '/v1/sandboxes', { key: brief.key })).status, { timeout: 3000 })
      .toBe(401)
  })
})

describe('rates', () => {
  it('slows a key that asks too often, and no other', async () => {
    await using limited = await TestServer.start({ requestsPerSecond: 5, requestBurst: 10 })
    const other = await limited.newKey(['admin'])
    const answers = await Promise.all(Array.from({ length: 30 }, () => limited.call('GET', '/v1/sandboxes')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThanOrEqual(18)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await refused[0]?.json()).toMatchObject({ error: { code: 'rate_limited', retryable: true } })
    expect((await limited.call('GET', '/v1/sandboxes', { key: other })).status).toBe(200)
  })

  it('stops looking up wrong keys of one address, while known keys work', async () => {
    await using limited = await TestServer.start({ wrongKeyBurst: 5, wrongKeysPerSecond: 0.01 })
    await limited.json('GET', '/v1/sandboxes')
    const wrong = `${limited.key.slice(0, -52)}${'0'.repeat(52)}`
    const statuses = []
    for (let index = 0; index < 8; index++)
      statuses.push((await limited.refusal('GET', '/v1/sandboxes', { key: wrong })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    expect((await limited.call('GET', '/v1/sandboxes')).status).toBe(200)
  })

  it('bounds the calls of a key that are under way at once', async () => {
    await using limited = await TestServer.start({ concurrentRequests: 3 })
    const { id } = await limited.sandbox({ rung: 'simulated' })
    const abort = new AbortController()
    const streams = await Promise.all(
      [1, 2, 3].map(() => limited.call('GET', `/v1/sandboxes/${id}/watch?path=/tmp`, { signal: abort.signal })),
    )
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await limited.refusal('GET', '/v1/sandboxes')).toMatchObject({ status: 429, code: 'too_many' })
    abort.abort()
    await expect.poll(async () => (await limited.call('GET', '/v1/sandboxes')).status).toBe(200)
  })
})
