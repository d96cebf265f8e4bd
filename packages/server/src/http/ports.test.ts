import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import type { SandboxView } from '@hearth/contract'
import { COUNTER, FULL, PROGRAM } from './testing/port-programs.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let sandbox: SandboxView
let base: string
let host: string

beforeAll(async () => {
  server = await TestServer.start({ previewAnswerMs: 3000, previewConnectMs: 1500 })
  sandbox = await server.sandbox()
  base = `/v1/sandboxes/${sandbox.id}`
  host = `8080-${sandbox.id.replace('_', '-')}.localhost:${server.server.address.port}`
  await server.json('PUT', `${base}/files?path=/tmp/server.py`, { body: PROGRAM })
  await server.json('POST', `${base}/processes`, { json: { command: ['python3', '/tmp/server.py'] }, status: 201 })
  await server.json('GET', `${base}/ports/8080/ready`, { status: 204 })
})
afterAll(() => server[Symbol.asyncDispose]())

interface Seen {
  method: string
  path: string
  headers: [string, string][]
  body: string
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** A request with any `Host`, which `fetch` does not allow. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const { port } = server.server.address
  const sent = request({ host: '127.0.0.1', port, path, method, headers: { host, ...headers } }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text }
}

const link = async (ttlMs = 60_000, key = server.key): Promise<URL> =>
  new URL(
    (await server.json<{ url: string }>('POST', `${base}/ports/8080/link`, { json: { ttlMs }, status: 201, key })).url,
  )
const names = (seen: Seen): string[] => seen.headers.map(([name]) => name.toLowerCase())

describe('ports by path', () => {
  it('passes requests through without key, cookie or hop-by-hop headers', async () => {
    const answer = await server.call('POST', `${base}/ports/8080/some/path?q=%20x`, {
      body: 'content',
      headers: { cookie: 'mine=1', 'x-mine': 'yes', 'x-forwarded-for': '6.6.6.6' },
    })
    const seen = (await answer.json()) as Seen
    expect(seen).toMatchObject({ method: 'POST', path: '/some/path?q=%20x', body: 'content' })
    expect(names(seen)).toContain('x-mine')
    for (const name of ['authorization', 'cookie', 'x-forwarded-for', 'x-hearth-key', 'transfer-encoding'])
      expect(names(seen)).not.toContain(name)
    expect(JSON.stringify(seen)).not.toContain('hearth_key_')
    for (const name of ['set-cookie', 'access-control-allow-origin', 'x-hop'])
      expect(answer.headers.has(name), name).toBe(false)
    expect(answer.headers.get('content-security-policy')).toBe('sandbox')
  })

  it('refuses a path that means something else after normalization', async () => {
    const headers = { host: '127.0.0.1', authorization: `Bearer ${server.key}` }
    const other = `/v1/sandboxes/sb_00000000000000000000/../${sandbox.id}/ports/8080/`
    expect((await ask(other, headers)).status).toBe(400)
    expect((await ask(`${base}/ports/08080/`, headers)).status).toBe(400)
    expect((await ask(`${base}/ports/99999/`, headers)).status).toBe(400)
  })

  it('tells what is wrong with the program', async () => {
    expect(await server.refusal('GET', `${base}/ports/9999/`)).toMatchObject({ status: 502, code: 'port_refused' })
    expect(await server.refusal('GET', `${base}/ports/8080/garbage`)).toMatchObject({
      status: 502,
      code: 'port_refused',
    })
    await expect(server.call('GET', `${base}/ports/8080/cut`).then((answer) => answer.text())).rejects.toThrow(
      'terminated',
    )
    expect(await server.refusal('GET', `${base}/ports/9999/ready?timeoutMs=100`)).toMatchObject({
      status: 504,
      code: 'timeout',
    })
  })

  it('waits so long for a program that answers nothing, and for one that accepts nothing', async () => {
    await server.json('PUT', `${base}/files?path=/tmp/full.py`, { body: FULL })
    await server.json('POST', `${base}/processes`, {
      json: { command: 'python3 /tmp/full.py > /tmp/full' },
      status: 201,
    })
    await server.json('POST', `${base}/exec`, { json: { command: 'until test -s /tmp/full; do sleep 0.1; done' } })
    const timed = async (path: string): Promise<[object, number]> => {
      const began = performance.now()
      const refused = await server.refusal('GET', `${base}/ports/${path}`)
      return [refused, performance.now() - began]
    }
    const [[silent, silence], [full, wait]] = await Promise.all([timed('8080/silent'), timed('7001/')])
    expect(silent).toMatchObject({ status: 504, code: 'timeout' })
    expect(silence).toBeGreaterThan(2900)
    expect(full).toMatchObject({ status: 504, code: 'timeout' })
    expect(wait).toBeGreaterThan(1400)
  })

  it('answers HEAD without a body', async () => {
    const answer = await server.call('HEAD', `${base}/ports/8080/`)
    expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([200, '', 'text/html'])
  })

  it('needs the scope', async () => {
    const key = await server.newKey(['exec', 'files', 'sandbox:read'])
    expect(await server.refusal('GET', `${base}/ports/8080/`, { key })).toMatchObject({ status: 403 })
  })
})

describe('ports by host name', () => {
  it('is private: nothing without a link or a key', async () => {
    expect((await ask('/')).status).toBe(401)
    expect((await ask('/?hearth_link=x.y')).status).toBe(401)
    expect((await ask('/', { cookie: 'hearth_preview=abc' })).status).toBe(401)
    expect((await ask('/v1/sandboxes', { authorization: 'Bearer other' })).status).toBe(401)
    expect((await ask('/', { 'x-hearth-key': await server.newKey(['exec']) })).status).toBe(403)
    const foreign = await ask('/', { 'x-hearth-key': await server.newKey(['admin'], 'other') })
    expect([foreign.status, JSON.parse(foreign.text)]).toMatchObject([404, { error: { code: 'sandbox_not_found' } }])
  })

  it('refuses host names that only look like one', async () => {
    for (const wrong of [
      `08080-${sandbox.id}.localhost`,
      `0-${sandbox.id}.localhost`,
      `99999-${sandbox.id}.localhost`,
      `8080-${sandbox.id}x.localhost`,
      `a.8080-${sandbox.id}.localhost`,
      'x.localhost',
    ]) {
      expect((await ask('/', { host: wrong, 'x-hearth-key': server.key })).status, wrong).toBe(404)
    }
    expect((await ask('/health', { host: 'localhost.evil.example' })).status).toBe(200)
  })

  it('takes a key, and leaves the program its own Authorization', async () => {
    const keyed = JSON.parse(
      (
        await ask('/x', {
          'x-hearth-key': server.key,
          authorization: 'Bearer app-token',
          cookie: 'hearth_preview=t; app=2',
        })
      ).text,
    ) as Seen
    expect(keyed.path).toBe('/x')
    expect(Object.fromEntries(keyed.headers)).toMatchObject({
      authorization: 'Bearer app-token',
      cookie: 'app=2',
      host,
    })
    expect(names(keyed)).not.toContain('x-hearth-key')
    const bearer = JSON.parse((await ask('/x', { authorization: `Bearer ${server.key}` })).text) as Seen
    expect(names(bearer)).not.toContain('authorization')
  })

  it('opens with a link: a browser by a cookie, a program at once', async () => {
    const url = await link()
    expect(url.host).toBe(host)
    const opened = await ask(`/page${url.search}&q=1`, { accept: 'text/html' })
    expect([opened.status, opened.headers.location]).toEqual([302, '/page?q=1'])
    const cookie = opened.headers['set-cookie']?.[0] ?? ''
    expect(cookie).toMatch(/^hearth_preview=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/)
    const page = await ask('/page', { cookie: cookie.split(';')[0] ?? '' })
    expect(page.status).toBe(200)
    expect(page.headers['set-cookie']).toEqual(['a=1; Path=/'])
    const program = JSON.parse((await ask(`/api${url.search}&q=1`)).text) as Seen
    expect(program.path).toBe('/api?q=1')
  })

  it('does not let other origins use the cookie', async () => {
    const cookie = `hearth_preview=${(await link()).searchParams.get('hearth_link')}`
    expect((await ask('/', { cookie, origin: `http://${host}` }, 'POST')).status).toBe(200)
    expect((await ask('/', { cookie, origin: 'http://evil.localhost' }, 'POST')).status).toBe(403)
    expect((await ask('/', { cookie, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' })).status).toBe(403)
    expect((await ask('/', { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' })).status).toBe(200)
  })

  it('ends a link with its time, its key and its port', async () => {
    const short = await link(1000)
    expect((await ask(`/${short.search}`)).status).toBe(200)
    const otherPort = `8081-${sandbox.id}.localhost`
    expect((await ask(`/${short.search}`, { host: otherPort })).status).toBe(401)
    await expect.poll(async () => (await ask(`/${short.search}`)).status, { timeout: 3000 }).toBe(401)
    const made = await server.json<{ id: string; key: string }>('POST', '/v1/keys', {
      json: { name: 'linker', scopes: ['ports', 'sandbox:read'] },
      status: 201,
    })
    const url = await link(60_000, made.key)
    expect((await ask(`/${url.search}`)).status).toBe(200)
    await server.json('DELETE', `/v1/keys/${made.id}`, { status: 204 })
    expect((await ask(`/${url.search}`)).status).toBe(401)
    const forged = url.search.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))
    expect((await ask(`/${forged}`)).status).toBe(401)
  })
})

describe('WebSockets to ports', () => {
  const first = async (socket: WebSocket): Promise<[string, string][]> => {
    const [data] = (await once(socket, 'message')) as [Buffer]
    socket.terminate()
    return JSON.parse(data.toString('utf8')) as [string, string][]
  }

  it('passes them through by path and by host name', async () => {
    const ws = server.url.replace('http', 'ws')
    const byPath = await first(
      new WebSocket(`${ws}${base}/ports/8080/socket`, { headers: { authorization: `Bearer ${server.key}` } }),
    )
    expect(JSON.stringify(byPath)).not.toContain('hearth_key_')
    const cookie = `hearth_preview=${(await link()).searchParams.get('hearth_link')}; app=1`
    const byHost = await first(new WebSocket(`${ws}/socket`, { headers: { host, cookie, origin: `http://${host}` } }))
    expect(Object.fromEntries(byHost)).toMatchObject({ cookie: 'app=1' })
    const foreign = new WebSocket(`${ws}/socket`, { headers: { host, cookie, origin: 'http://evil.example' } })
    foreign.on('error', () => {})
    const [, refused] = (await once(foreign, 'unexpected-response')) as [unknown, IncomingMessage]
    expect(refused.statusCode).toBe(403)
  })

  it('carries raw bytes with credit and half-close', async () => {
    await server.json('POST', `${base}/processes`, { json: { command: ['python3', '-c', COUNTER] }, status: 201 })
    await server.json('GET', `${base}/ports/7000/ready`, { status: 204 })
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${base}/ports/7000/stream`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    const closed = once(socket, 'close')
    const texts: string[] = []
    let received = 0
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) received += data.length
      else texts.push((JSON.parse(data.toString('utf8')) as { type: string }).type)
    })
    await expect.poll(() => texts).toContain('open')
    for (let index = 0; index < 48; index++) socket.send(Buffer.alloc(64 * 1024))
    socket.send(JSON.stringify({ type: 'eof' }))
    await expect.poll(() => received).toBe(1024 * 1024)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(received).toBe(1024 * 1024)
    socket.send(JSON.stringify({ type: 'credit', bytes: 1024 * 1024 }))
    await expect.poll(() => received).toBe(2 * 1024 * 1024)
    socket.send(JSON.stringify({ type: 'credit', bytes: 1024 * 1024 }))
    await expect.poll(() => received).toBe(3 * 1024 * 1024)
    socket.send(JSON.stringify({ type: 'credit', bytes: 1024 * 1024 }))
    await closed
    expect(received).toBe(3 * 1024 * 1024 + 3)
    expect(texts).toEqual(['open', 'eof'])
  })

  it('tells on the stream that nothing listens', async () => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${base}/ports/7999/stream`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    const [data] = (await once(socket, 'message')) as [Buffer]
    expect(JSON.parse(data.toString('utf8'))).toMatchObject({ type: 'error', error: { code: 'port_refused' } })
    await once(socket, 'close')
    expect(await server.refusal('GET', `${base}/ports/7999/stream`)).toMatchObject({ status: 426 })
  })
})
