import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Sandbox, Secret } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** How programs at the ports of a sandbox are reached, as whoever made it has said. */
const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())

/** Says which host it was called by; with a certificate it speaks TLS, and it takes WebSockets. */
const PROGRAM = `
const [port, tls] = process.argv.slice(2)
const fs = require('node:fs'), crypto = require('node:crypto')
const options = tls ? { key: fs.readFileSync('key.pem'), cert: fs.readFileSync('cert.pem') } : {}
const server = require(tls ? 'node:https' : 'node:http').createServer(options, (incoming, outgoing) => {
  outgoing.end(JSON.stringify({ host: incoming.headers.host, forwarded: incoming.headers['x-forwarded-host'] }))
})
server.on('upgrade', ({ headers }, socket) => {
  const accept = crypto.createHash('sha1').update(headers['sec-websocket-key'] + '258EAFA5-E914-47DA-95CA-C5AB0DC85B11').digest('base64')
  socket.end('HTTP/1.1 101 Switching Protocols\\r\\nupgrade: websocket\\r\\nconnection: Upgrade\\r\\nsec-websocket-accept: ' + accept + '\\r\\n\\r\\n' + headers.host)
})
server.listen(Number(port), '127.0.0.1')
`

describe.each(['process', 'gvisor'])('programs at ports on %s', (rung) => {
  test('are told another host, and spoken to in TLS', { timeout: 60_000 }, async (context) => {
    if (!(await server.has(rung))) return context.skip(`${rung} does not work here`)
    const network = { maskRequestHost: 'app.internal:${PORT}', httpsPorts: [8443] }
    const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': rung }, network })
    expect((await sandbox.getInfo()).network).toMatchObject(network)
    await sandbox.files.write('serve.cjs', PROGRAM)
    const newKey =
      'openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost'
    await sandbox.commands.run(`${newKey} -keyout key.pem -out cert.pem`)
    for (const given of ['8000', '8443 tls', '9443 tls']) {
      await sandbox.commands.run(`node serve.cjs ${given}`, { background: true, timeoutMs: 0 })
    }
    const at = async (port: number, domain = 'e2b.test') => {
      const host = `${port}-${sandbox.sandboxId}.${domain}`
      const { status, body } = await server.raw({ path: '/', headers: { host } })
      return { status, ...(status === 200 ? (JSON.parse(body.toString()) as object) : {}) }
    }
    for (const port of [8000, 8443]) {
      const forwarded = `${port}-${sandbox.sandboxId}.e2b.test`
      await expect
        .poll(() => at(port), { timeout: 20_000 })
        .toEqual({ status: 200, host: `app.internal:${port}`, forwarded })
    }
    // Below any name that leads here, as browsers have them without a name server; and TLS where it was not asked for.
    expect(await at(8000, 'localhost:7071')).toMatchObject({ status: 200, host: 'app.internal:8000' })
    expect((await at(9443)).status).toBe(502)
    expect(await upgrade(sandbox.sandboxId, 8443)).toMatch(/^HTTP\/1\.1 101[^]*app\.internal:8443$/)
    // It stays so when what may be reached from inside is changed.
    await sandbox.updateNetwork({ allowInternetAccess: false })
    expect((await sandbox.getInfo()).network).toMatchObject(network)
    await sandbox.kill()
  })
})

test('hosts that no header can hold, and ports that there are not, are refused', async () => {
  const wrong = [
    { maskRequestHost: 'a b' },
    { maskRequestHost: 'a\r\nx: y' },
    { httpsPorts: [0] },
    { httpsPorts: [70_000] },
  ]
  for (const network of wrong) {
    await expect(Sandbox.create('host', { network }), JSON.stringify(network)).rejects.toThrow(/400.*network/)
  }
})

test('what has no counterpart is named, and makes nothing', async () => {
  const rules = { 'api.test': [{ transform: { headers: { authorization: 'Bearer ${e2b.secrets.token}' } } }] }
  for (const [network, named] of [
    [{ rules }, /network\.rules/],
    [{ egressProxy: { address: 'proxy.test:1080' } }, /network\.egressProxy/],
    [{ denyOut: ['10.0.0.0/8'] }, /addresses/],
  ] as const) {
    await expect(Sandbox.create('host', { network: network as never })).rejects.toThrow(named)
  }
  const aws = Secret.iamToken({ audience: 'cloud.test', tokenType: 'JWT-SVID' })
  await expect(Sandbox.create('host', { iam: { tokens: { aws } } })).rejects.toThrow(/iam/)
  expect(await Sandbox.list().nextItems()).toEqual([])
})

describe('pages of any origin', () => {
  test('may ask envd and the interpreter, and read what they answer', async () => {
    const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' } })
    const origin = { origin: 'https://page.example' }
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-access-token' }
    for (const port of [49983, 49999]) {
      const host = { host: `${port}-${sandbox.sandboxId}.e2b.test` }
      const path = port === 49983 ? '/files?path=x' : '/execute'
      const preflight = await server.raw({ method: 'OPTIONS', path, headers: { ...host, ...origin, ...asked } })
      expect(preflight).toMatchObject({
        status: 204,
        headers: {
          'access-control-allow-origin': '*',
          'access-control-allow-methods': expect.stringContaining('POST') as string,
          'access-control-allow-headers': expect.stringContaining('*') as string,
        },
      })
      // Refusals can be read too; no cookie ever proves anything.
      const refused = await server.raw({ method: 'POST', path, headers: { ...host, ...origin, cookie: 'a=b' } })
      expect([refused.status, refused.headers['access-control-allow-origin']]).toEqual([401, '*'])
      expect(refused.headers['access-control-allow-credentials']).toBeUndefined()
    }
    const control = await server.raw({ path: '/v2/sandboxes', headers: { ...origin, 'x-api-key': server.key } })
    expect(control.headers['access-control-allow-origin']).toBeUndefined()
    await sandbox.kill()
  })
})

/** All that comes after the question for a WebSocket. */
async function upgrade(id: string, port: number): Promise<string> {
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
  const key = randomBytes(16).toString('base64')
  socket.write(
    `GET / HTTP/1.1\r\nhost: ${port}-${id}.e2b.test\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${key}\r\n\r\n`,
  )
  let told = ''
  socket.on('data', (data: Buffer) => (told += data.toString()))
  await once(socket, 'close')
  return told
}
