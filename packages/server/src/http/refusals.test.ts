import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
beforeAll(async () => {
  server = await TestServer.start({
    headersMs: 400,
    jsonBodyMs: 400,
    headerBytes: 8192,
    jsonBytes: 10_000,
    commandBytes: 20_000,
    writeIdleMs: 500,
  })
})
afterAll(() => server[Symbol.asyncDispose]())

/** Sends bytes as they are and gives all that comes back until the connection ends. */
async function raw(...parts: (string | Buffer)[]): Promise<string> {
  const { port } = server.server.address
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1')))
  socket.on('error', () => {})
  for (const part of parts) socket.write(part)
  await once(socket, 'close')
  return text
}

const head = (line: string, ...headers: string[]): string =>
  [line, 'host: 127.0.0.1', `authorization: Bearer ${server.key}`, ...headers, '', ''].join('\r\n')

describe('refusals are error bodies', () => {
  it('for paths and methods that do not exist', async () => {
    expect(await server.refusal('GET', '/v1/nothing')).toMatchObject({ status: 404, code: 'not_found' })
    expect(await server.refusal('GET', '/')).toMatchObject({ status: 404, code: 'not_found' })
    const answer = await server.call('PATCH', '/v1/sandboxes')
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, HEAD'])
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } })
    expect(
      await server.refusal('OPTIONS', '/v1/sandboxes', {
        headers: { origin: 'http://x.example', 'access-control-request-method': 'POST' },
      }),
    ).toMatchObject({ status: 405 })
    expect(await server.refusal('POST', '/health')).toMatchObject({ status: 405 })
  })

  it('for a client that waits with its body, before it has sent any of it', async () => {
    const { id } = await server.sandbox({ rung: 'simulated' })
    const waits = ['expect: 100-continue', 'content-type: application/json', 'content-length: 18']
    const path = `POST /v1/sandboxes/${id}/exec HTTP/1.1`
    const wrong = [path, 'host: 127.0.0.1', 'authorization: Bearer hearth_wrong', ...waits, '', ''].join('\r\n')
    const refused = await raw(wrong)
    expect(refused).toMatch(/^HTTP\/1\.1 401 /)
    expect(refused).not.toContain('100 Continue')
    expect(await raw(head(path, ...waits, 'connection: close'), '{"command":"true"}')).toMatch(
      /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /,
    )
    const large = head(path, waits[0] ?? '', 'content-type: application/json', 'content-length: 900000')
    expect(await raw(large)).toMatch(/^HTTP\/1\.1 413 /)
  })

  it('for bodies that are no JSON, of the wrong type, or of the wrong shape', async () => {
    const post = (body: string, type = 'application/json') =>
      server.refusal('POST', '/v1/sandboxes', { body, headers: { 'content-type': type } })
    for (const body of [
      '{',
      'null',
      '[]',
      '"x"',
      '1',
      '',
      '{"a":1}',
      '\u0000',
      '{"limits":[]}',
      `{"env":${'['.repeat(4000)}${']'.repeat(4000)}}`,
    ]) {
      expect(await post(body), body.slice(0, 20)).toMatchObject({ status: 400, code: 'invalid_request' })
    }
    expect(await post('{}', 'text/plain')).toMatchObject({ status: 415, code: 'unsupported_media_type' })
    expect(await post('{}', 'application/jsonx')).toMatchObject({ status: 415 })
    expect(await server.refusal('POST', '/v1/sandboxes', { body: Buffer.from('{}') })).toMatchObject({ status: 415 })
    expect(await post('{"__proto__":{"rung":"simulated"},"constructor":1}')).toMatchObject({ status: 400 })
  })

  it('for bodies that are too large, with and without their length', async () => {
    const large = JSON.stringify({ metadata: { a: 'x'.repeat(20_000) } })
    const headers = { 'content-type': 'application/json' }
    expect(await server.refusal('POST', '/v1/sandboxes', { body: large, headers })).toMatchObject({
      status: 413,
      code: 'body_too_large',
    })
    const stream = ReadableStream.from([Buffer.from(large)]) as unknown as RequestInit['body']
    expect(await server.refusal('POST', '/v1/sandboxes', { body: stream ?? '', headers })).toMatchObject({
      status: 413,
    })
  })

  it('for headers that are too large or too slow', async () => {
    expect(await raw(head('GET /v1/sandboxes HTTP/1.1', `x-large: ${'x'.repeat(10_000)}`))).toMatch(
      /^HTTP\/1\.1 431 [^]*"code":"headers_too_large"/,
    )
    expect(await raw('GET /health HTTP/1.1\r\nhost: x\r\n')).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/)
  })

  it('for a body that comes too slowly', async () => {
    const began = performance.now()
    const text = await raw(
      head('POST /v1/sandboxes HTTP/1.1', 'content-type: application/json', 'content-length: 100'),
      '{"met',
    )
    expect(text).toMatch(/^HTTP\/1\.1 408 [^]*"code":"request_timeout"/)
    expect(performance.now() - began).toBeLessThan(4000)
  })

  it('for what is no HTTP', async () => {
    for (const bytes of [
      '\r\n\r\nhello\r\n\r\n',
      'GET\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      Buffer.from([0x16, 3, 1, 0, 200, 1, 0]),
      'GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n',
      'GET / HTTP/1.1\r\n\r\n',
      'POST /v1/sandboxes HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
      'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n',
    ]) {
      expect(await raw(bytes), String(bytes)).toMatch(/^HTTP\/1\.1 400 /)
    }
  })

  it('for hosts and paths that mean nothing', async () => {
    const bad = [
      'GET http://%zz/ HTTP/1.1',
      'GET /%zz HTTP/1.1',
      'GET /v1/sandboxes/%E0%A4%A HTTP/1.1',
      'GET //evil.example/v1 HTTP/1.1',
      'GET /\\..\\v1 HTTP/1.1',
      'GET * HTTP/1.1',
    ]
    for (const line of bad)
      expect(await raw(head(line, 'connection: close')), line).toMatch(/^HTTP\/1\.1 4\d\d [^]*"error":/)
    const hosts = ['a b', 'a/b', '[::1', 'x@y', 'a:99999999', '%']
    for (const host of hosts) {
      expect(await raw(`GET /v1/rungs HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`), host).toMatch(
        /^HTTP\/1\.1 4\d\d [^]*"error":/,
      )
    }
  })

  it('has no CORS headers anywhere', async () => {
    for (const path of ['/health', '/openapi.json', '/v1/sandboxes', '/v1/nothing']) {
      const answer = await server.call('GET', path, { headers: { origin: 'http://evil.example' } })
      expect(
        [...answer.headers.keys()].filter((name) => name.startsWith('access-control')),
        path,
      ).toEqual([])
    }
  })
})

describe('slow readers', () => {
  it('is let go when it takes nothing of an answer for too long', async () => {
    const { id } = await server.sandbox()
    const { port } = server.server.address
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.pause()
    const body = JSON.stringify({ command: 'yes' })
    socket.write(
      head(
        `POST /v1/sandboxes/${id}/exec/stream HTTP/1.1`,
        'content-type: application/json',
        `content-length: ${body.length}`,
      ) + body,
    )
    server.lines.length = 0
    await expect
      .poll(() => server.lines.find(({ operation }) => operation === 'exec.stream'), { timeout: 5000 })
      .toMatchObject({ outcome: 'abandoned' })
    const left = async (): Promise<number> =>
      (await server.json<{ items: { exit: unknown }[] }>('GET', `/v1/sandboxes/${id}/processes`)).items.filter(
        ({ exit }) => exit === null,
      ).length
    await expect.poll(left).toBe(0)
    socket.destroy()
  })
})

describe('connections', () => {
  it('are so many at once, and are kept so long without a request', async () => {
    await using bounded = await TestServer.start({ connections: 2, keepAliveMs: 300 })
    const { port } = bounded.server.address
    const open = async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      await once(socket, 'connect')
      return socket
    }
    const first = await open()
    const second = await open()
    const third = connect(port, '127.0.0.1').on('error', () => {})
    await once(third, 'close')
    const began = performance.now()
    first.write('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n')
    first.resume()
    await once(first, 'close')
    // Node waits for a second more than it was told.
    expect(performance.now() - began).toBeGreaterThan(250)
    const next = await open()
    next.write('GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n')
    expect(String((await once(next, 'data'))[0])).toContain('200 OK')
    for (const socket of [second, next]) socket.destroy()
  })
})

describe('the system', () => {
  it('answers without a key', async () => {
    expect(await server.json('GET', '/health', { key: null })).toMatchObject({ status: 'ok' })
    expect(await server.json('GET', '/ready', { key: null })).toMatchObject({ status: 'ok' })
  })

  it('gives metrics to loopback and to operators, and to no page that names itself otherwise', async () => {
    await server.json('GET', '/v1/sandboxes')
    const text = await (await server.call('GET', '/metrics', { key: null })).text()
    expect(text).toMatch(/hearth_operations_total\{operation="sandbox.list",outcome="ok",code=""\} [1-9]/)
    expect(await raw('GET /metrics HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 401 /,
    )
    expect((await server.call('GET', '/metrics', { key: await server.newKey(['admin']) })).status).toBe(403)
    expect((await server.call('GET', '/metrics')).status).toBe(200)
  })
})
