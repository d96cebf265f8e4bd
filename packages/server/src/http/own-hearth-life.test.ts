import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWN_HEARTH_NAME, type KeyView, type SandboxView } from '@hearth/contract'
import { Inside } from './testing/inside.ts'
import { TestServer } from './testing/test-server.ts'

/** How the key of a sandbox begins and ends, and who may have one. */

let server: TestServer
const simulated = { rung: 'simulated' } as const

beforeAll(async () => {
  server = await TestServer.start()
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

const made = async (request: object, key = server.key): Promise<Inside> =>
  new Inside(server, (await server.sandbox(request, key)).id)
const child = async (inside: Inside, request: object = simulated): Promise<Inside> =>
  new Inside(server, ((await inside.call('POST', '/v1/sandboxes', { json: request })).body as SandboxView).id)
const alive = async (): Promise<string[]> =>
  (await server.json<{ items: SandboxView[] }>('GET', '/v1/sandboxes')).items
    .filter(({ state }) => state === 'running')
    .map(({ id }) => id)
const keysOf = async (id: string): Promise<KeyView[]> =>
  (await server.json<{ items: KeyView[] }>('GET', '/v1/keys')).items.filter(({ sandbox }) => sandbox === id)
const gone = async (): Promise<void> => await expect.poll(alive, { timeout: 10_000 }).toEqual([])

describe('the key of a sandbox', () => {
  it('passes on less and less, down to its depth, and ends with all that was made', async () => {
    const top = await made({ delegate: { depth: 2, children: 3 } })
    const middle = await child(top, { rung: 'process', delegate: { depth: 1, children: 2 } })
    const last = await child(middle, { rung: 'process', delegate: {} })
    expect((await last.call('POST', '/v1/sandboxes', { json: { ...simulated, delegate: {} } })).exceeded).toContain(
      'depth',
    )
    expect((await last.call('POST', '/v1/sandboxes', { json: simulated })).status).toBe(201)
    // Counted for all above.
    expect((await middle.call('POST', '/v1/sandboxes', { json: simulated })).exceeded).toEqual(['children'])
    const seen = (await top.call('GET', '/v1/sandboxes')).body as { items: SandboxView[] }
    expect(seen.items).toHaveLength(3)
    expect(await alive()).toHaveLength(4)
    await server.json('DELETE', `/v1/sandboxes/${top.id}`, { status: 204 })
    expect(await alive()).toEqual([])
    for (const { id } of [top, middle, last])
      expect((await keysOf(id)).map(({ revokedAt }) => revokedAt)).toEqual([expect.any(String)])
  })

  it('ends when its sandbox is stopped, or at its deadline, or with the key that made it', async () => {
    const stopped = await made({ delegate: {} })
    await child(stopped)
    await server.json('POST', `/v1/sandboxes/${stopped.id}/stop`)
    await gone()
    const brief = await made({ delegate: {}, ttlMs: 3000 })
    const outlives = await child(brief, { ...simulated, ttlMs: 600_000 })
    expect(await alive()).toContain(outlives.id)
    await gone()
    const maker = await server.json<KeyView & { key: string }>('POST', '/v1/keys', {
      json: { name: 'maker', grant: { depth: 1 } },
      status: 201,
    })
    const below = await made({ delegate: {} }, maker.key)
    await child(below)
    await server.json('DELETE', `/v1/keys/${maker.id}`, { status: 204 })
    await gone()
  }, 30_000)

  it('is one, however often the same create is asked for', async () => {
    const request = { json: { rung: 'process', delegate: {} }, status: 201, headers: { 'idempotency-key': 'once' } }
    const { id } = await server.json<SandboxView>('POST', '/v1/sandboxes', request)
    expect(await server.json<SandboxView>('POST', '/v1/sandboxes', request)).toMatchObject({ id })
    expect(await keysOf(id)).toHaveLength(1)
    const other = { json: { rung: 'process', delegate: { children: 1 } }, headers: { 'idempotency-key': 'once' } }
    expect(await server.refusal('POST', '/v1/sandboxes', other)).toMatchObject({ code: 'idempotency_conflict' })
    await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
  })

  it('is given only by who may give it, and never more than that', async () => {
    const refused = async (key: string, delegate: object): Promise<string> =>
      (await server.refusal('POST', '/v1/sandboxes', { json: { ...simulated, delegate }, key })).code
    expect(await refused(await server.newKey(['sandbox:write']), {})).toBe('forbidden')
    const reader = await server.newKey(['sandbox:write', 'keys', 'exec'])
    const inside = await made({ delegate: {} }, reader)
    expect(await keysOf(inside.id)).toMatchObject([{ scopes: ['sandbox:write', 'exec', 'keys'] }])
    expect(await inside.call('GET', '/v1/sandboxes')).toMatchObject({ status: 403 })
    const { key } = await server.json<{ key: string }>('POST', '/v1/keys', {
      json: { name: 'x', grant: {} },
      status: 201,
    })
    expect(await refused(key, {})).toBe('grant_exceeded')
    expect(await refused(server.key, { ttlMs: 1 })).toBe('invalid_request')
    expect(await refused(server.key, { anything: 1 })).toBe('invalid_request')
    // What was refused left nothing.
    expect(await alive()).toEqual([inside.id])
    await server.json('DELETE', `/v1/sandboxes/${inside.id}`, { status: 204 })
  })
})

it('works on the rung without processes, through the same gateway', async () => {
  const inside = await made({ ...simulated, delegate: { children: 1 } })
  const curl = `curl -s -H "authorization: Bearer $HEARTH_API_KEY" $HEARTH_URL/v1/sandboxes`
  expect(JSON.parse((await inside.run(curl)).stdout)).toEqual({ items: [], next: null })
  const post = `${curl} -X POST -H 'content-type: application/json' -d '{"rung":"simulated"}'`
  expect(JSON.parse((await inside.run(post)).stdout)).toMatchObject({ state: 'running' })
  expect(JSON.parse((await inside.run(post)).stdout)).toMatchObject({ error: { code: 'grant_exceeded' } })
  const plain = await made(simulated)
  expect((await plain.run(`curl -s http://${OWN_HEARTH_NAME}/health`)).exitCode).toBe(6)
  for (const { id } of [inside, plain]) await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
  expect(await alive()).toEqual([])
})

it('holds a sandbox to rates of its own: a flood from inside is nobody else’s', async () => {
  await using held = await TestServer.start({
    requestsPerSecond: 1,
    requestBurst: 20,
    wrongKeysPerSecond: 1,
    wrongKeyBurst: 20,
  })
  const { id } = await held.sandbox({ delegate: {} })
  const inside = new Inside(held, id)
  const flood = async (key?: string): Promise<string[]> => {
    const one = inside
      .command('GET', '/v1/sandboxes', key === undefined ? {} : { key })
      .replace('curl', 'curl -o /dev/null')
    const { stdout } = await inside.run(
      `for i in $(seq 40); do (${one} > /tmp/$i) & done; wait; for i in $(seq 40); do tail -n 1 /tmp/$i; echo; done`,
    )
    return stdout.split('\n').filter((line) => line !== '')
  }
  expect(await flood('wrong')).toContain('401')
  expect(await flood('wrong')).toContain('429')
  const answers = await flood()
  expect(answers.filter((status) => status === '429').length).toBeGreaterThanOrEqual(15)
  expect(await held.refusal('GET', '/v1/sandboxes', { key: 'hearth_wrong' })).toMatchObject({ status: 401 })
  expect((await held.call('GET', '/v1/sandboxes')).status).toBe(200)
}, 30_000)
