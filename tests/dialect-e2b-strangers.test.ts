import { once } from 'node:events'
import { connect } from 'node:net'
import { AuthenticationError, Sandbox, SandboxNotFoundError } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { E2bRaw, json } from './support/e2b-raw.ts'

const raw = await E2bRaw.start()
const { server, sandbox } = raw
afterAll(() => raw[Symbol.asyncDispose]())
const metadata = { 'hearth.rung': 'process' }

describe('strangers', () => {
  test('without a key, or with a foreign one, learn nothing', async () => {
    await expect(Sandbox.create('host', { apiKey: 'e2b_0000' })).rejects.toBeInstanceOf(AuthenticationError)
    expect((await server.raw({ path: '/v2/sandboxes' })).status).toBe(401)
    const apiKey = await server.foreignKey()
    await expect(Sandbox.getInfo(sandbox.sandboxId, { apiKey })).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.connect(sandbox.sandboxId, { apiKey })).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.pause(sandbox.sandboxId, { apiKey })).rejects.toBeInstanceOf(SandboxNotFoundError)
    expect(await Sandbox.kill(sandbox.sandboxId, { apiKey })).toBe(false)
    expect(await Sandbox.list({ apiKey }).nextItems()).toEqual([])
    const own = await Sandbox.create('host', { apiKey, metadata })
    const answer = await raw.control({ method: 'POST', path: `/v2/sandboxes/${own.sandboxId}/connect`, key: apiKey })
    const { envdAccessToken } = json(answer) as { envdAccessToken: string }
    // A raw.token of another sandbox, and one in which the tenant was exchanged.
    expect((await raw.envd({ path: '/metrics', method: 'GET' }, envdAccessToken)).status).toBe(401)
    expect(
      (
        await raw.envd(
          { path: '/metrics', method: 'GET' },
          raw.token.replace(/^[^.]+/, envdAccessToken.split('.')[0] ?? ''),
        )
      ).status,
    ).toBe(401)
    expect((await raw.envd({ path: '/metrics', method: 'GET' }, 'x'.repeat(4096))).status).toBe(401)
    await own.kill()
  })

  test('with a key that may do less do less, and nothing when it is revoked', async () => {
    const { key, id } = await server.makeKey(['sandbox:read', 'sandbox:write', 'files'])
    const limited = await raw.tokenOf(key)
    expect((await raw.envd({ path: '/files?path=/etc/passwd', method: 'GET' }, limited)).status).toBe(200)
    const list = { path: '/process.Process/List', headers: { 'content-type': 'application/json' } }
    expect(json(await raw.envd(list, limited))).toMatchObject({ code: 'permission_denied' })
    await server.revokeKey(id)
    expect((await raw.envd({ path: '/files?path=/etc/passwd', method: 'GET' }, limited)).status).toBe(401)
    expect((await raw.envd(list)).status).toBe(200)
  })

  test('with links of their own making are held off', async () => {
    const link = new URL(await sandbox.downloadUrl('/etc/hostname'))
    const at = (query: string) => server.raw({ path: `/files?${query}` })
    expect((await at(link.searchParams.toString())).status).toBe(200)
    expect((await at('path=/etc/hostname&signature=v1_x')).status).toBe(401)
    // A time that was put on a link without one.
    expect((await at(`${link.searchParams.toString()}&signature_expiration=9999999999`)).status).toBe(401)
    const named = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '49983' }
    const forSandbox = await server.raw({ path: `/files?${link.searchParams.toString()}`, headers: named })
    expect(forSandbox.status).toBe(200)
    expect((await server.raw({ path: '/files?path=/etc/hostname', headers: named })).status).toBe(401)
    const refused: number[] = []
    for (let count = 0; count < 250; count++) refused.push((await at('path=/etc/hostname&signature=v1_x')).status)
    expect(refused.at(-1)).toBe(429)
    expect((await raw.envd({ path: '/metrics', method: 'GET' })).status).toBe(200)
  })
})

describe('ports', () => {
  const host = (port: number, id = sandbox.sandboxId) => ({ host: `${port}-${id}.e2b.test` })

  test('are reached by host name and by headers, without the secrets of the client', async () => {
    expect(sandbox.getHost(8000)).toBe(`8000-${sandbox.sandboxId}.e2b.test`)
    const program =
      'import http.server as h\nclass A(h.BaseHTTPRequestHandler):\n  def do_GET(self):\n    b=str(self.headers).encode()\n    self.send_response(200); self.send_header("content-length",str(len(b))); self.end_headers(); self.wfile.write(b)\nh.HTTPServer(("127.0.0.1",8000),A).serve_forever()'
    await sandbox.files.write('serve.py', program)
    await sandbox.commands.run('python3 serve.py', { background: true, timeoutMs: 0 })
    const secrets = { 'x-api-key': server.key, 'e2b-traffic-access-token': 'secret', 'x-mine': 'kept' }
    await expect.poll(async () => (await server.raw({ path: '/', headers: host(8000) })).status).toBe(200)
    const seen = (await server.raw({ path: '/', headers: { ...host(8000), ...secrets } })).body.toString()
    expect([seen.includes('kept'), seen.includes('secret'), seen.includes('hearth_key')]).toEqual([true, false, false])
    const named = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '8000' }
    expect((await server.raw({ path: '/', headers: named })).status).toBe(200)
    expect(json(await server.raw({ path: '/', headers: host(8001) }))).toMatchObject({ code: 502, port: 8001 })
    const nobody = sandbox.sandboxId.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    expect(json(await server.raw({ path: '/', headers: host(8000, nobody) }))).toMatchObject({
      code: 502,
      sandboxId: nobody,
    })
    expect((await server.raw({ path: '/', headers: { host: 'nonsense.e2b.test' } })).status).toBe(400)
  })

  test('are private where the sandbox was made so, or elsewhere', async () => {
    const made = await Sandbox.create('host', { metadata, network: { allowPublicTraffic: false } })
    const traffic = { 'e2b-traffic-access-token': made.trafficAccessToken ?? '' }
    expect((await server.raw({ path: '/', headers: host(8000, made.sandboxId) })).status).toBe(403)
    expect((await server.raw({ path: '/', headers: { ...host(8000, made.sandboxId), ...traffic } })).status).toBe(502)
    expect(
      (await server.raw({ path: '/', headers: { ...host(8000), 'e2b-traffic-access-token': 'wrong' } })).status,
    ).toBe(200)
    await made.kill()
    const native = await server.native.create({ rung: 'process', template: 'host' })
    expect((await server.raw({ path: '/', headers: host(8000, native.id.replace('_', '')) })).status).toBe(403)
    await native.kill()
  })

  test('let code run for nobody without a token', async () => {
    const named = { 'e2b-sandbox-id': sandbox.sandboxId, 'e2b-sandbox-port': '49999' }
    const body = [JSON.stringify({ code: '1' })]
    expect((await server.raw({ method: 'POST', path: '/execute', headers: named, body })).status).toBe(401)
    const authorized = { ...named, 'x-access-token': raw.token }
    const both = [JSON.stringify({ code: '1', context_id: 'python', language: 'python' })]
    expect((await server.raw({ method: 'POST', path: '/execute', headers: authorized, body: both })).status).toBe(400)
    const lines = (await server.raw({ method: 'POST', path: '/execute', headers: authorized, body })).body
      .toString()
      .trim()
      .split('\n')
    expect(lines.map((line) => (JSON.parse(line) as { type: string }).type)).toEqual([
      'number_of_executions',
      'result',
      'end_of_execution',
    ])
  })

  test('pass WebSockets on, or refuse them', async () => {
    const { hostname, port } = new URL(server.url)
    // A port at which nothing listens, and a sandbox that there is not.
    for (const name of [`8001-${sandbox.sandboxId}`, '8001-sb00000000000000000000']) {
      const socket = connect(Number(port), hostname)
      socket.write(`GET / HTTP/1.1\r\nhost: ${name}.e2b.test\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(/^HTTP\/1.1 502/)
      socket.destroy()
    }
  })
})
