import { Client as PandaStack } from '@pandastack/sdk'
import { Sandbox } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FILESYSTEM_SERVICE } from '../packages/server/src/dialects/e2b/envd/filesystem-service.ts'
import { PROCESS_SERVICE } from '../packages/server/src/dialects/e2b/envd/process-service.ts'
import { DIALECT_ROUTES, fill, type DialectRoute } from './support/dialect-routes.ts'
import { E2bRaw, json } from './support/e2b-raw.ts'
import type { Reply } from './support/e2b-server.ts'

const raw = await E2bRaw.start()
const { server, sandbox } = raw
afterAll(() => raw[Symbol.asyncDispose]())

/** Good for every route, so that nothing is refused for its body. */
const BODY = {
  timeout: 60,
  duration: 60,
  count: 1,
  memory: true,
  name: 'stranger',
  url: 'https://hooks.hearth.test/',
  cmd: 'id',
  code: '1',
  port: 8000,
  ttl_seconds: 60,
  label: 'x',
  language: 'python',
  target: 'kept',
  tags: ['x'],
}
/** Routes for what a stranger may have of its own under any name: what it gets must then be its own. */
const OWN = new Set([
  'GET /templates/{template}/files/{hash}',
  'GET /events/sandboxes/{id}',
  'GET /v1/templates/{name}',
])

const ids: Record<string, string> = {}
let stranger = ''

function ask(route: DialectRoute, key: string): Promise<Reply> {
  const values = { ...ids, id: ids[route.dialect === 'e2b' ? 'e2bId' : 'nativeId'] ?? '' }
  const { dialect, method } = route
  const path = `${fill(route.path, values)}${route.path.includes('/fs') ? '?path=/etc/passwd' : ''}`
  const text = method === 'GET' ? '' : JSON.stringify(BODY)
  const length = { 'content-type': 'application/json', 'content-length': String(text.length) }
  const headers = { 'x-api-key': key, authorization: `Bearer ${key}`, ...length }
  const body = text === '' ? [] : [text]
  return server.raw({ dialect, method, path, headers, body })
}

beforeAll(async () => {
  const snapshot = await sandbox.createSnapshot({ name: 'kept' })
  const build = json(await raw.control({ method: 'POST', path: '/v3/templates', body: ['{"name":"victim"}'] }))
  const hook = {
    name: 'h',
    url: 'https://hooks.hearth.test/',
    enabled: false,
    events: ['sandbox.lifecycle.created'],
    signatureSecret: 'a'.repeat(32),
  }
  const webhook = json(await raw.control({ method: 'POST', path: '/events/webhooks', body: [JSON.stringify(hook)] }))
  await server.native.volumes.create({ name: 'victim' })
  const nativeId = sandbox.sandboxId.replace(/^sb/, 'sb_')
  const session = json(
    await server.raw({
      dialect: 'pandastack',
      method: 'POST',
      path: `/v1/sandboxes/${nativeId}/repl/sessions`,
      headers: { authorization: `Bearer ${server.key}` },
    }),
  )
  Object.assign(ids, {
    e2bId: sandbox.sandboxId,
    nativeId,
    template: 'victim',
    name: 'victim',
    snapshot: snapshot.snapshotId,
    build: (build as { buildID: string }).buildID,
    webhook: (webhook as { id: string }).id,
    session: (session as { id: string }).id,
    prefix: server.key.slice(0, 12),
    hash: 'ab'.repeat(32),
  })
  stranger = await server.foreignKey()
})

describe('a key of another tenant', () => {
  const named = DIALECT_ROUTES.filter(({ path }) => path.includes('{'))
  // Metrics of several sandboxes name them in the query.
  const unnamed = DIALECT_ROUTES.filter(
    ({ path, method }) => !path.includes('{') && method === 'GET' && path !== '/sandboxes/metrics',
  )

  test(`gets nothing but "not found" from all ${named.length} routes that name something`, async () => {
    for (const route of named) {
      const place = `${route.method} ${route.path}`
      const reply = await ask(route, stranger)
      if (!OWN.has(place)) expect([404, 501], `${place}: ${reply.body.toString()}`).toContain(reply.status)
      expect(reply.body.toString(), place).not.toMatch(/envdAccessToken|root:x:0|"sandboxTeamId"/)
    }
  })

  test(`sees nothing of it in the ${unnamed.length} lists`, async () => {
    const secrets = [ids['e2bId'], ids['nativeId'], ids['snapshot'], ids['build'], ids['webhook'], 'victim']
    for (const route of unnamed) {
      const reply = await ask(route, stranger)
      expect(reply.status, route.path).toBe(200)
      for (const secret of secrets) expect(reply.body.toString(), route.path).not.toContain(secret)
    }
  })

  test('cannot make a sandbox of its snapshot or its build', async () => {
    for (const templateID of [ids['snapshot'], 'kept']) {
      const body = [JSON.stringify({ templateID, metadata: { 'hearth.rung': 'process' } })]
      const made = await raw.control({ method: 'POST', path: '/v2/sandboxes', body, key: stranger })
      expect(made.status, templateID).toBe(404)
    }
    const headers = { authorization: `Bearer ${stranger}` }
    const body = [JSON.stringify({ from_snapshot: ids['snapshot'] })]
    const request = { dialect: 'pandastack', method: 'POST', path: '/v1/sandboxes', headers, body } as const
    expect((await server.raw(request)).status).toBe(404)
  })

  test('without any key it is the same: nobody is told what there is', async () => {
    for (const route of DIALECT_ROUTES) {
      const { dialect, method, path } = route
      const reply = await server.raw({ dialect, method, path: fill(path, { ...ids, id: ids['nativeId'] ?? '' }) })
      expect(reply.status, `${method} ${path}`).toBe(401)
    }
  })
})

test('a token of another sandbox opens no method of envd and no context, there or not', async () => {
  const own = await Sandbox.create('host', { apiKey: stranger, metadata: { 'hearth.rung': 'process' } })
  const token = await raw.tokenOf(stranger, own.sandboxId)
  const absent = sandbox.sandboxId.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
  const rpcs = [
    ...Object.keys(PROCESS_SERVICE).map((method) => `/process.Process/${method}`),
    ...Object.keys(FILESYSTEM_SERVICE).map((method) => `/filesystem.Filesystem/${method}`),
  ]
  const places = [...rpcs, '/files?path=/etc/passwd', '/files/compose', '/metrics', '/envs', '/execute', '/contexts']
  for (const path of places) {
    const port = /^\/(execute|contexts)/.test(path) ? '49999' : '49983'
    const statuses = await Promise.all(
      [sandbox.sandboxId, absent].map(async (id) => {
        const headers = { 'e2b-sandbox-id': id, 'e2b-sandbox-port': port, 'x-access-token': token }
        const body = ['{"code":"1","path":"/etc/passwd"}']
        return (await server.raw({ method: 'POST', path, headers, body })).status
      }),
    )
    expect(statuses, path).toEqual([401, 401])
  }
  await own.kill()
})

test('what was attacked is as it was', async () => {
  expect((await sandbox.commands.run('echo alive')).stdout).toBe('alive\n')
  expect((await sandbox.getInfo()).state).toBe('running')
  const mine = new PandaStack({ apiUrl: server.dialect('pandastack'), apiKey: server.key })
  expect((await mine.snapshots.list()).map(({ id }: { id: string }) => id)).toContain(ids['snapshot'])
  expect((await raw.control({ path: `/events/webhooks/${ids['webhook']}` })).status).toBe(200)
  expect((await raw.control({ path: `/templates/victim/builds/${ids['build']}/status` })).status).toBe(200)
})

describe('bodies for PandaStack', () => {
  const headers = () => ({ authorization: `Bearer ${server.key}` })
  const at = (rest: string) => `/v1/sandboxes/${ids['nativeId']}${rest}`

  test('that are too large or never end are refused', async () => {
    const large = [Buffer.alloc(2 * 1024 * 1024, 0x20)]
    const dialect = 'pandastack'
    const post = { dialect, method: 'POST', headers: headers() } as const
    expect((await server.raw({ ...post, path: at('/exec'), body: large })).status).toBe(413)
    expect((await server.raw({ ...post, path: at('/exec'), body: ['{"cmd":'], open: true })).status).toBe(408)
    const put = { dialect, method: 'PUT', headers: headers() } as const
    const path = at('/fs?path=/tmp/upload')
    expect((await server.raw({ ...put, path, body: [Buffer.alloc(5 * 1024 * 1024)] })).status).toBe(413)
    expect((await server.raw({ ...put, path, body: ['begun'], open: true })).status).toBe(408)
    expect(await sandbox.files.exists('/tmp/upload')).toBe(false)
  })

  test('links are for one port, one time and one key', async () => {
    const post = { dialect: 'pandastack', method: 'POST' } as const
    const { key, id } = await server.makeKey(['sandbox:read', 'ports'])
    const link = async (body: object): Promise<URL> => {
      const path = at('/preview-token')
      const made = await server.raw({
        ...post,
        path,
        headers: { authorization: `Bearer ${key}` },
        body: [JSON.stringify(body)],
      })
      return new URL((json(made) as { url: string }).url)
    }
    const open = async ({ host, port, pathname, search }: URL): Promise<number> =>
      await server.rawAt(Number(port), { path: `${pathname}${search}`, headers: { host } })
    const url = await link({ port: 8123, ttl_seconds: 60 })
    // Nothing listens: who gets as far as this is let through.
    expect(await open(url)).toBeGreaterThanOrEqual(500)
    const other = new URL(url.href.replace('8123', '8124'))
    expect([401, 403]).toContain(await open(other))
    expect([401, 403]).toContain(await open(new URL(url.href.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))))
    const brief = await link({ port: 8123, ttl_seconds: 0.05 })
    await expect.poll(() => open(brief)).toBeLessThan(500)
    await server.revokeKey(id)
    expect([401, 403]).toContain(await open(url))
  })
})
