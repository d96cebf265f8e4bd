import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OWN_HEARTH_KEY, OWN_HEARTH_NAME, type EventView, type KeyView, type SandboxView } from '@hearth/contract'
import { learnPolicy } from '@hearth/engine/policy'
import { Inside, parseAnswer } from './testing/inside.ts'
import { TestServer } from './testing/test-server.ts'

/** A sandbox with a key of its own, seen from inside. */

let server: TestServer
let inside: Inside

const made = async (request: object): Promise<Inside> => new Inside(server, (await server.sandbox(request)).id)
const simulated = { rung: 'simulated' } as const
const ids = ({ body }: { readonly body: unknown }): string[] =>
  (body as { items: SandboxView[] }).items.map(({ id }) => id)

beforeAll(async () => {
  server = await TestServer.start({ previewConnectMs: 500, jsonBytes: 4096 })
  inside = await made({
    delegate: { children: 4, depth: 2, ttlMs: 600_000, policy: { allow: ['a.test'] }, templates: ['host'] },
  })
}, 60_000)
afterAll(() => server[Symbol.asyncDispose]())

describe('from inside', () => {
  it('makes a child within its grant, uses it and ends it', async () => {
    const child = await inside.call('POST', '/v1/sandboxes', {
      json: { rung: 'process', policy: { allow: ['a.test'] } },
    })
    expect(child.status).toBe(201)
    const { id } = child.body as SandboxView
    const told = await inside.call('POST', `/v1/sandboxes/${id}/exec`, { json: { command: 'echo hello; exit 3' } })
    expect(told.body).toMatchObject({ stdout: 'hello\n', exitCode: 3 })
    expect(ids(await inside.call('GET', '/v1/sandboxes'))).toEqual([id])
    // The child was given nothing of this.
    const within = new Inside(server, id)
    expect((await within.run('env')).stdout).not.toContain('HEARTH_')
    expect((await within.run(`curl -s -m 5 http://${OWN_HEARTH_NAME}/health`)).exitCode).toBe(6)
    expect((await inside.call('DELETE', `/v1/sandboxes/${id}`)).status).toBe(204)
    expect(ids(await inside.call('GET', '/v1/sandboxes'))).toEqual([])
  })

  it('streams', async () => {
    const child = (await inside.call('POST', '/v1/sandboxes', { json: { rung: 'process' } })).body as SandboxView
    const start = inside.command('POST', `/v1/sandboxes/${child.id}/processes`, {
      json: { command: 'for i in 1 2 3; do echo line $i; sleep 0.2; done' },
      headers: ['accept: text/event-stream'],
    })
    const { stdout } = await inside.run(start.replace('curl', 'curl -N'))
    const data = [...stdout.matchAll(/"data":"([^"]+)"/g)].map(([, text = '']) =>
      Buffer.from(text, 'base64').toString(),
    )
    expect(data.join('')).toBe('line 1\nline 2\nline 3\n')
    await inside.call('DELETE', `/v1/sandboxes/${child.id}`)
  })

  it('is held to its grant, and has no hold on itself', async () => {
    const wide: [object, string][] = [
      [{ policy: { allow: ['b.test'] } }, 'policy'],
      [{ policy: { mode: 'audit' } }, 'policy'],
      [{ ttlMs: 601_000 }, 'ttlMs'],
      [{ template: 'debian' }, 'templates'],
      [{ volumes: [{ volume: 'data', path: '/data' }] }, 'volumes'],
      [{ delegate: { depth: 2 } }, 'depth'],
      [{ delegate: { children: 5 } }, 'children'],
      [{ delegate: { policy: { allow: ['b.test'] } } }, 'policy'],
    ]
    for (const [request, field] of wide) {
      const answer = await inside.call('POST', '/v1/sandboxes', { json: { ...simulated, ...request } })
      expect([answer.status, answer.code], field).toEqual([403, 'grant_exceeded'])
      expect(answer.exceeded).toContain(field)
    }
    const child = (await inside.call('POST', '/v1/sandboxes', { json: simulated })).body as SandboxView
    const renewed = await inside.call('POST', `/v1/sandboxes/${child.id}/renew`, { json: { ttlMs: 700_000 } })
    expect(renewed).toMatchObject({ status: 403, exceeded: ['ttlMs'] })
    const policy = await inside.call('PUT', `/v1/sandboxes/${child.id}/policy`, { json: { allow: ['b.test'] } })
    expect(policy).toMatchObject({ status: 403, exceeded: ['policy'] })
    await inside.call('DELETE', `/v1/sandboxes/${child.id}`)
    const self = `/v1/sandboxes/${inside.id}`
    for (const [method, path, json] of [
      ['POST', '/renew', { ttlMs: 700_000 }],
      ['POST', '/fork', { count: 1 }],
      ['PUT', '/policy', { allow: ['a.test'] }],
      ['POST', '/exec', { command: 'true' }],
      ['GET', '', undefined],
    ] as const)
      expect(await inside.call(method, self + path, { json }), path).toMatchObject({ status: 404 })
  })

  it('gives nothing that could be carried away, and reaches nothing that is the tenant’s or the operator’s', async () => {
    for (const path of ['/v1/tenants', '/v1/pool', '/v1/secrets', '/v1/volumes', '/v1/runs', '/v1/events'])
      expect(await inside.call('GET', path), path).toMatchObject({ status: 403 })
    const key = await inside.call('POST', '/v1/keys', { json: { name: 'x', grant: {} } })
    expect(key).toMatchObject({ status: 403, code: 'forbidden' })
    expect(await inside.call('GET', '/metrics')).toMatchObject({ status: 403 })
    expect(await inside.call('GET', '/metrics', { key: null })).toMatchObject({ status: 401 })
    const { items } = (await inside.call('GET', '/v1/keys')).body as { items: KeyView[] }
    expect(items.map(({ sandbox }) => sandbox)).toEqual([inside.id])
  })

  it('counts children that are made at once', async () => {
    const one = inside.command('POST', '/v1/sandboxes', { json: simulated })
    const { stdout } = await inside.run(`for i in 1 2 3 4 5 6 7 8 9 10 11 12; do (${one} > /tmp/$i) & done; wait
      for i in 1 2 3 4 5 6 7 8 9 10 11 12; do tail -n 1 /tmp/$i; echo; done`)
    const statuses = stdout.split('\n').filter((line) => line !== '')
    expect(statuses.filter((status) => status === '201')).toHaveLength(4)
    expect(statuses.filter((status) => status === '403')).toHaveLength(8)
    for (const id of ids(await inside.call('GET', '/v1/sandboxes'))) await inside.call('DELETE', `/v1/sandboxes/${id}`)
  })

  it('has the limits, the log and the record of every other client', async () => {
    const large = await inside.call('POST', '/v1/sandboxes', { json: { metadata: { a: 'x'.repeat(8192) } } })
    expect(large).toMatchObject({ status: 413, code: 'body_too_large' })
    await inside.call('GET', '/v1/sandboxes/sb_00000000000000000000?secret=query')
    const [key] = (await server.json<{ items: KeyView[] }>('GET', '/v1/keys')).items.filter(
      ({ sandbox }) => sandbox === inside.id,
    )
    const log = server.lines.filter(({ event, key: by }) => event === 'operation' && by === key?.id)
    expect(log).toContainEqual(expect.objectContaining({ operation: 'sandbox.get', status: 404 }))
    const recorded = async (): Promise<EventView[]> =>
      (await server.json<{ items: EventView[] }>('GET', `/v1/events?sandbox=${inside.id}&limit=1000`)).items
    const request = { name: OWN_HEARTH_NAME, method: 'GET', path: '/v1/sandboxes/sb_00000000000000000000', status: 404 }
    await expect
      .poll(async () => (await recorded()).filter(({ type }) => type === 'network.request').map(({ data }) => data))
      .toContainEqual(expect.objectContaining(request))
    // No policy speaks of it, so that none is learned from it.
    expect(learnPolicy(await recorded()).policy).toEqual({ allow: [] })
  })

  it('is the way of a command with a policy of its own only where that names it', async () => {
    const call = inside.command('GET', '/v1/sandboxes')
    expect(await inside.run(call, { policy: {} })).toMatchObject({ exitCode: 6 })
    const policy = { allow: [{ name: OWN_HEARTH_NAME, ports: [80], methods: ['GET'] }] }
    expect(parseAnswer((await inside.run(call, { policy })).stdout)).toMatchObject({ status: 200 })
    const make = inside.command('POST', '/v1/sandboxes', { json: simulated })
    expect(parseAnswer((await inside.run(make, { policy })).stdout)).toMatchObject({ code: 'egress_refused' })
  })
})

describe('hostile programs inside', () => {
  it('have no use for another key', async () => {
    const foreign = await server.newKey(['admin'], 'stranger')
    for (const key of [server.key, foreign, 'x', null]) {
      expect(await inside.call('GET', '/v1/sandboxes', { key }), String(key)).toMatchObject({ status: 401 })
      expect(await inside.call('GET', '/metrics', { key })).toMatchObject({ status: 401 })
    }
    const double = await inside.call('GET', '/v1/sandboxes', { headers: [`authorization: Bearer ${server.key}`] })
    expect(double).toMatchObject({ code: 'egress_refused' })
    const socket = (key: string): Promise<string> =>
      inside.send(
        `GET /v1/sandboxes/${inside.id}/ports/80/stream HTTP/1.1\r\nHost: ${OWN_HEARTH_NAME}\r\nConnection: Upgrade\r\n` +
          `Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n` +
          `Sec-WebSocket-Protocol: hearth, hearth-key.${key}\r\n\r\n`,
      )
    expect(await socket(server.key)).toMatch(/^HTTP\/1.1 401 /)
    expect(await socket(OWN_HEARTH_KEY)).toMatch(/^HTTP\/1.1 404 /)
  })

  it('take nothing with them that works outside, in another sandbox, or in a fork', async () => {
    for (const key of [OWN_HEARTH_KEY, `Bearer ${OWN_HEARTH_KEY}`])
      expect(await server.refusal('GET', '/v1/sandboxes', { key })).toMatchObject({ status: 401 })
    const child = (await inside.call('POST', '/v1/sandboxes', { json: simulated })).body as SandboxView
    const other = await made({ delegate: {} })
    expect(ids(await other.call('GET', '/v1/sandboxes'))).toEqual([])
    expect(await other.call('GET', `/v1/sandboxes/${child.id}`)).toMatchObject({ status: 404 })
    const forked = await server.json<{ children: SandboxView[] }>('POST', `/v1/sandboxes/${inside.id}/fork`, {
      json: { count: 1 },
      status: 201,
    })
    const copy = new Inside(server, forked.children[0]?.id ?? '')
    expect((await copy.run('env')).stdout).not.toContain('HEARTH_')
    const key = `-H 'authorization: Bearer ${OWN_HEARTH_KEY}'`
    expect(await copy.run(`curl -s -m 5 ${key} http://${OWN_HEARTH_NAME}/v1/sandboxes`)).toMatchObject({ exitCode: 6 })
    for (const id of [copy.id, other.id, child.id]) await server.json('DELETE', `/v1/sandboxes/${id}`, { status: 204 })
  })

  it('reach nothing more by it: no other name, port or address, and no TLS', async () => {
    const port = Number(new URL(server.url).port)
    const elsewhere = [`http://${OWN_HEARTH_NAME}:${port}/`, `https://${OWN_HEARTH_NAME}/`, `http://127.0.0.1:${port}/`]
    const names = [`http://x.${OWN_HEARTH_NAME}/`, 'http://internal/', 'http://a.test/', 'http://localhost/']
    for (const url of [...elsewhere, ...names])
      expect((await inside.run(`curl -sk -m 5 ${url}`)).exitCode, url).toBeGreaterThan(0)
    const tls = `curl -sk -m 5 --connect-to ::${OWN_HEARTH_NAME}:80 https://${OWN_HEARTH_NAME}/`
    expect((await inside.run(tls)).exitCode).toBeGreaterThan(0)
  })

  it('get no request through that has two readings, or is for somebody else', async () => {
    const key = `Authorization: Bearer ${OWN_HEARTH_KEY}\r\n`
    const host = `Host: ${OWN_HEARTH_NAME}\r\n`
    const smuggled = `GET /v1/tenants HTTP/1.1\r\n${host}${key}\r\n`
    const attempts: Readonly<Record<string, string>> = {
      garbage: '\x00\x01\x02 this is no HTTP\r\n\r\n',
      'another host': `GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`,
      'no host': `GET /health HTTP/1.1\r\n\r\n`,
      'two hosts': `GET /health HTTP/1.1\r\n${host}Host: localhost\r\n\r\n`,
      'another port': `GET /health HTTP/1.1\r\nHost: ${OWN_HEARTH_NAME}:7070\r\n\r\n`,
      'an absolute URI of another': `GET http://localhost/health HTTP/1.1\r\n${host}\r\n`,
      'a proxy': `CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n`,
      'two lengths': `POST /v1/sandboxes HTTP/1.1\r\n${host}${key}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${smuggled}`,
      'a folded line': `GET /health HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`,
      'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'a bare line': `GET /health HTTP/1.1\n${host}X: a\nY: b\n\n`,
    }
    const before = server.lines.length
    for (const [what, bytes] of Object.entries(attempts))
      expect(await inside.send(bytes), what).not.toMatch(/HTTP\/1.1 2/)
    const reached = server.lines.slice(before).filter(({ event, operation }) => {
      return event === 'operation' && operation !== 'exec.run'
    })
    expect(reached).toEqual([])
    // What is written in another way and means the same is the same.
    expect(
      await inside.send(`GET http://HEARTH.internal/health HTTP/1.1\r\nHost: ${OWN_HEARTH_NAME}.:80\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 200 /)
    expect(await inside.call('GET', '/health')).toMatchObject({ status: 200 })
  })
})

describe('a sandbox without a key of its own', () => {
  it('finds nothing at that name, whatever its policy says', async () => {
    const policies = [
      { allow: [OWN_HEARTH_NAME, '*.internal'] },
      { allow: [{ name: OWN_HEARTH_NAME, ports: [80], addresses: ['127.0.0.0/8'] }] },
      { mode: 'audit' },
    ]
    const port = Number(new URL(server.url).port)
    for (const policy of policies) {
      const plain = await made({ policy })
      for (const url of [`http://${OWN_HEARTH_NAME}/health`, `http://${OWN_HEARTH_NAME}:${port}/health`])
        expect(await plain.run(`curl -s -m 5 ${url}`), JSON.stringify(policy)).toMatchObject({ exitCode: 6 })
      await server.json('DELETE', `/v1/sandboxes/${plain.id}`, { status: 204 })
    }
  })
})
