import { once } from 'node:events'
import { connect as connectHttp2, constants, type ClientHttp2Session } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createServer } from 'node:https'
import { connect as connectTls } from 'node:tls'
import { callbackify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateAuthority } from '../tls/authority.ts'
import { listening, startGateway, type TestGateway } from './inspected.fixture.ts'
import { curlFor, startServer, type Curl, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const LIMITS = { headerBytes: 8192, headerCount: 40, streams: 5, discardBytes: 100_000 }

describe('inspected connections', () => {
  let server: TestServer
  let gateway: TestGateway
  let curl: Curl
  let directory: string
  let remove: () => Promise<void>
  const url = (path: string): string => `https://${NAME}:${gateway.port}${path}`

  beforeAll(async () => {
    server = await startServer((request, response, body) => {
      const path = request.url ?? ''
      if (path === '/empty') return void response.writeHead(204).end()
      if (path === '/same') return void response.writeHead(304, { etag: '"1"' }).end()
      if (path === '/break') {
        response.writeHead(200, { 'content-length': 100 })
        response.write('half')
        return void setImmediate(() => response.destroy())
      }
      if (path === '/big') return void response.end(Buffer.alloc(20_000_000, 'x'))
      if (path === '/never') return
      if (request.method === 'HEAD') return void response.writeHead(200).end()
      response.writeHead(200, { 'x-version': request.httpVersion, trailer: 'x-end', 'set-cookie': ['a=1', 'b=2'] })
      response.addTrailers({ 'x-end': 'yes' })
      response.end(`${request.method} ${path} ${body.length}`)
    })
    gateway = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      limits: LIMITS,
      policy: (port) => ({
        allow: [{ name: NAME, ports: [port], paths: ['/**'] }],
        deny: [
          { name: NAME, ports: [port], paths: ['/secret/**'] },
          { name: NAME, ports: [port], methods: ['DELETE'] },
        ],
      }),
    })
    ;({ curl, remove, directory } = await curlFor(NAME, gateway.port, gateway.root))
  })

  afterAll(async () => {
    gateway.close()
    server.close()
    await remove()
  })

  describe.each([
    ['--http1.1', '1.1'],
    ['--http2', '2.0'],
  ])('over %s', (flag, version) => {
    it('pass, with the same protocol to the server', async () => {
      const answer = await curl(flag, url('/a?b=c'))
      expect(answer).toMatchObject({ status: 200, failed: null })
      expect(answer.body).toContain('GET /a?b=c 0')
      expect(answer.head).toMatch(new RegExp(`x-version: ${version.replace('.', '\\.')}`, 'i'))
      expect(answer.head.match(/set-cookie/gi)).toHaveLength(2)
      expect(gateway.entries.at(-1)).toEqual({
        kind: 'request',
        name: NAME,
        port: gateway.port,
        process: 7,
        named: true,
        method: 'GET',
        path: '/a',
        status: 200,
        secrets: [],
      })
    })

    it('have bodies of any size, both ways', async () => {
      const file = join(directory, 'upload')
      await writeFile(file, Buffer.alloc(5_000_000, 'y'))
      expect((await curl(flag, '-T', file, url('/up'))).body).toContain('PUT /up 5000000')
      expect((await curl(flag, '-H', 'transfer-encoding: chunked', '-T', file, url('/up'))).body).toContain(
        'PUT /up 5000000',
      )
      expect((await curl(flag, url('/big'))).body).toHaveLength(20_000_000)
    })

    it('have no body where there is none', async () => {
      expect(await curl(flag, url('/empty'))).toMatchObject({ status: 204, body: '', failed: null })
      expect(await curl(flag, url('/same'))).toMatchObject({ status: 304, body: '', failed: null })
      expect(await curl(flag, '-I', url('/head'))).toMatchObject({ status: 200, body: '', failed: null })
    })

    it('are cut off when the server is', async () => {
      expect((await curl(flag, url('/break'))).failed).not.toBeNull()
    })

    it.each([
      ['denied', ['/secret/x']],
      ['denied', ['-X', 'DELETE', '/a']],
      ['denied', ['--path-as-is', '/x/../secret/y']],
      ['denied', ['/%73ecret/y']],
      ['name_mismatch', ['-H', 'Host: other.test', '/a']],
      ['name_mismatch', ['-H', 'Host: api.test:1', '/a']],
      ['name_mismatch', ['-H', 'Host: 127.0.0.1', '/a']],
      ['method_not_allowed', ['-X', 'TRACE', '/a']],
      ['malformed', ['-H', `x-long: ${'x'.repeat(8100)}`, '-H', `x-longer: ${'x'.repeat(200)}`, '/a']],
      ['malformed', [...Array.from({ length: 45 }, (_, index) => ['-H', `x-${index}: 1`]).flat(), '/a']],
    ] as const)('are refused as %s (%#)', async (refusal, args) => {
      const before = server.requests.length
      const answer = await curl(flag, ...args.slice(0, -1), url(args.at(-1) ?? ''))
      if (answer.status === 403)
        expect(JSON.parse(answer.body)).toMatchObject({ error: { code: 'egress_refused', refusal } })
      // A head beyond the limit is not even read.
      else expect(refusal).toBe('malformed')
      expect(server.requests).toHaveLength(before)
    })
  })

  async function session(): Promise<ClientHttp2Session> {
    const client = connectHttp2(`https://${NAME}:${gateway.port}`, {
      host: '127.0.0.1',
      ca: gateway.root,
      servername: NAME,
    })
    client.on('error', () => client.destroy())
    await once(client, 'remoteSettings')
    return client
  }

  it('streams of HTTP/2 are limited, keep their trailers, and no other authority is believed', async () => {
    const client = await session()
    expect(client.remoteSettings.maxConcurrentStreams).toBe(LIMITS.streams)
    const request = client.request({ ':path': '/t', ':method': 'POST' })
    const trailers = once(request, 'trailers') as Promise<[Record<string, string>]>
    request.end('abc')
    request.resume()
    expect((await trailers)[0]).toMatchObject({ 'x-end': 'yes' })
    const other = client.request({ ':path': '/t', ':authority': `other.test:${gateway.port}` })
    other.resume()
    const [answer] = (await once(other, 'response')) as [Record<string, unknown>]
    expect(answer[':status']).toBe(403)
    const both = client.request({ ':path': '/t', host: 'other.test' })
    both.resume()
    expect(((await once(both, 'response')) as [Record<string, unknown>])[0][':status']).toBe(403)
    client.destroy()
  })

  it('a flood of resets ends the session', async () => {
    const client = await session()
    const ended = new Promise((resolve) => client.once('close', resolve))
    for (let round = 0; round < 400 && !client.destroyed; round++) {
      const streams = Array.from({ length: LIMITS.streams }, () =>
        client.request({ ':path': '/never' }).on('error', () => undefined),
      )
      // oxlint-disable-next-line no-await-in-loop -- each must have been sent
      await new Promise(setImmediate)
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
      // oxlint-disable-next-line no-await-in-loop -- the next ones only fit in when these have gone
      await new Promise<void>((resolve) => {
        if (client.destroyed || !client.ping(() => resolve())) resolve()
      })
    }
    await ended
    expect((await curl('--http2', url('/after'))).status).toBe(200)
  })

  it('a server without HTTP/2 is spoken to as it can', async () => {
    const authority = await CertificateAuthority.create()
    const old = createServer(
      { SNICallback: callbackify((name: string) => authority.contextFor(name)) },
      (request, response) => {
        if (request.url === '/switch') {
          request.socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\nConnection: Upgrade\r\n\r\nodd')
        } else response.end(`${request.httpVersion} ${request.headers.cookie}`)
      },
    ).listen(0, '127.0.0.1')
    const upstreamPort = await listening(old)
    const to = await startGateway({ name: NAME, upstreamPort, upstreamRoot: authority.certificate })
    const client = await curlFor(NAME, to.port, to.root)
    const address = `https://${NAME}:${to.port}`
    const answers = await client.curl(
      '--http2',
      '-H',
      'cookie: a=1',
      '-H',
      'cookie: b=2',
      `${address}/1`,
      `${address}/2`,
    )
    expect(answers.head).toMatch(/^HTTP\/2 200/)
    expect(answers.body.match(/1\.1 a=1; b=2/g)).toHaveLength(2)
    expect(await client.curl('--http2', `${address}/switch`)).toMatchObject({ status: 502 })
    to.close()
    old.close()
    await client.remove()
  })

  it('what is sent after a refusal is thrown away, up to a limit', async () => {
    const socket = connectTls({ host: '127.0.0.1', port: gateway.port, servername: NAME, ca: gateway.root })
    socket.on('error', () => socket.destroy())
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write('POST /secret/x HTTP/1.1\r\nHost: api.test\r\nContent-Length: 1000000\r\n\r\n')
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 403/)
    socket.write(Buffer.alloc(LIMITS.discardBytes + 65_536))
    await closed
  })

  it('a client that sends its head too slowly, or nothing, is cut off', async () => {
    const hasty = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      secure: false,
      limits: { headMs: 100 },
    })
    const socket = connectTcp(hasty.port, '127.0.0.1')
    socket.write('GET / HTTP/1.1\r\nHo')
    await once(socket, 'close')
    const secure = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      limits: { headMs: 100 },
    })
    const silent = connectTcp(secure.port, '127.0.0.1')
    silent.resume()
    await once(silent, 'close')
    expect(secure.outcomes).toEqual(['TLS was not opened in time'])
    hasty.close()
    secure.close()
  })

  it('a failure of the gateway itself ends the connection, and is told to who runs it', async () => {
    const record = (): void => {
      throw new Error('the recorder broke')
    }
    const options = { name: NAME, upstreamPort: server.port, upstreamRoot: server.root, record }
    const broken = await startGateway(options)
    const found = await curlFor(NAME, broken.port, broken.root)
    expect((await found.curl(`https://${NAME}:${broken.port}/`)).failed).not.toBeNull()
    expect(broken.problems).toEqual([expect.stringMatching(/^a request to api.test: .*the recorder broke/)])
    await found.remove()
    broken.close()
  })

  it('a server that does not answer, is not there, or is not who it should be', async () => {
    const late = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      limits: { idleMs: 100 },
    })
    const gone = await startGateway({ name: NAME, upstreamPort: 1, upstreamRoot: server.root })
    const strange = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: gateway.root })
    for (const [target, status, path] of [
      [late, 504, '/never'],
      [gone, 502, '/'],
      [strange, 502, '/'],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one gateway after the other
      const client = await curlFor(NAME, target.port, target.root)
      for (const flag of ['--http1.1', '--http2']) {
        // oxlint-disable-next-line no-await-in-loop -- one gateway after the other
        const answer = await client.curl(flag, `https://${NAME}:${target.port}${path}`)
        expect(answer.status).toBe(status)
        expect(JSON.parse(answer.body)).toHaveProperty('error.suggestion')
        expect(target.entries.at(-1)).toMatchObject({ kind: 'request', status })
      }
      // oxlint-disable-next-line no-await-in-loop -- one gateway after the other
      await client.remove()
      target.close()
    }
  })

  it('everything ends when it is no longer allowed', async () => {
    const ending = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root })
    const client = await curlFor(NAME, ending.port, ending.root)
    const asked = once(ending.abort.signal, 'abort')
    const answer = client.curl(`https://${NAME}:${ending.port}/never`)
    while (server.requests.at(-1)?.url !== '/never') await new Promise((resolve) => setTimeout(resolve, 10))
    ending.close()
    await asked
    expect((await answer).failed).not.toBeNull()
    await client.remove()
  })
})
