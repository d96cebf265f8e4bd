import { once } from 'node:events'
import { connect } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { startServer, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'

describe('a request that could be read in two ways', () => {
  let server: TestServer
  let gateway: TestGateway

  beforeAll(async () => {
    server = await startServer((request, response, body) => {
      if (request.url !== '/never') response.end(`${request.method} ${request.url} ${body.length}`)
    })
    const limits = { headerBytes: 8192, pipelined: 4 }
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root, limits })
  })

  afterAll(() => {
    gateway.close()
    server.close()
  })

  async function raw(text: string): Promise<string> {
    const socket = connect({ host: '127.0.0.1', port: gateway.port, servername: NAME, ca: gateway.root })
    await once(socket, 'secureConnect')
    socket.write(text, 'latin1')
    let answer = ''
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      answer += chunk.toString('latin1')
    })
    const timer = setTimeout(() => socket.destroy(), 400)
    await once(socket, 'close')
    clearTimeout(timer)
    return answer
  }

  it.each([
    [
      'both lengths',
      'POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n12345'],
    ['a length that is none', 'POST / HTTP/1.1\r\nHost: api.test\r\nContent-Length: +5\r\n\r\n12345'],
    ['another coding', 'POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n'],
    ['a coding in disguise', 'POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n'],
    ['a coding of 1.0', 'POST / HTTP/1.0\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a space before the colon', 'POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: api.test\r\nX: a\r\n b\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: api.test\r\nHost: api.test\r\n\r\n'],
    ['no host', 'GET / HTTP/1.1\r\nX: 1\r\n\r\n'],
    ['another host in the target', 'GET https://other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['another scheme in the target', 'GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a user in the target', 'GET https://api.test@other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['a tunnel', 'CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n'],
    ['bare line feeds', 'GET / HTTP/1.1\nHost: api.test\n\n'],
    ['a NUL', 'GET / HTTP/1.1\r\nHost: api.test\r\nX: a\u0000b\r\n\r\n'],
    ['a fragment', 'GET /a#b HTTP/1.1\r\nHost: api.test\r\n\r\n'],
    ['HTTP/2 without having agreed', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['something else', '\u0000\u0001\u0002 hello'],
    ['a head that is too long', `GET / HTTP/1.1\r\nHost: api.test\r\nX: ${'x'.repeat(9000)}\r\n\r\n`],
  ])('%s reaches nobody', async (_what, text) => {
    const [before, refused] = [server.requests.length, gateway.entries.length]
    expect(await raw(text)).toMatch(/^HTTP\/1\.1 4(00|03|31) /)
    expect(server.requests).toHaveLength(before)
    expect(gateway.entries.slice(refused)).toMatchObject([{ kind: 'refusal' }])
  })

  it.each([
    ['1\r\nx\r\nZZ\r\n\r\n', 'a size that is none'],
    ['1;a=b\nx\r\n0\r\n\r\n', 'a bare line feed'],
    ['fffffffffffffffffff\r\nx', 'a size beyond everything'],
  ])('a body in chunks %j: %s', async (chunks) => {
    const before = server.requests.length
    await raw(`POST / HTTP/1.1\r\nHost: api.test\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`)
    expect(server.requests).toHaveLength(before)
  })

  it('absolute targets, pipelines and upgrades to HTTP/2 are understood as they should be', async () => {
    expect(await raw('GET https://API.test./p?q HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')).toContain(
      'GET /p?q 0',
    )
    const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: api.test\r\n\r\n`
    expect(await raw(get('/1') + get('/2') + get('/3'))).toMatch(/GET \/1 0[^]*GET \/2 0[^]*GET \/3 0/)
    const upgraded = await raw(
      'GET /u HTTP/1.1\r\nHost: api.test\r\nUpgrade: h2c\r\nConnection: close, Upgrade, X-Hop\r\nX-Hop: 1\r\n\r\n',
    )
    expect(upgraded).toContain('GET /u 0')
    expect(server.requests.at(-1)?.headers).not.toHaveProperty('x-hop')
    expect(server.requests.at(-1)?.headers).not.toHaveProperty('upgrade')
  })

  it('more requests at once than allowed end the connection', async () => {
    const before = gateway.outcomes.length
    await raw('GET /never HTTP/1.1\r\nHost: api.test\r\n\r\n'.repeat(10))
    expect(gateway.outcomes.length).toBeGreaterThan(before)
  })
})
