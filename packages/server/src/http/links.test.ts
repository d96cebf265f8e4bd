import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import type { SandboxView } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { PROGRAM } from './testing/port-programs.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let base: string

/** A sandbox in which the program listens, and where it is below the API. */
async function listening(on: TestServer): Promise<{ readonly sandbox: SandboxView; readonly base: string }> {
  const sandbox = await on.sandbox()
  const below = `/v1/sandboxes/${sandbox.id}`
  await on.json('PUT', `${below}/files?path=/tmp/server.py`, { body: PROGRAM })
  await on.json('POST', `${below}/processes`, { json: { command: ['python3', '/tmp/server.py'] }, status: 201 })
  await on.json('GET', `${below}/ports/8080/ready`, { status: 204 })
  return { sandbox, base: below }
}

beforeAll(async () => {
  server = await TestServer.start()
  base = (await listening(server)).base
})
afterAll(() => server[Symbol.asyncDispose]())

interface Seen {
  readonly path: string
  readonly headers: [string, string][]
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

/** A request with any `Host` and a path as it stands, which `fetch` does not allow. */
async function ask(
  path: string,
  headers: Record<string, string>,
  method = 'GET',
  { port } = server.server.address,
): Promise<Answer> {
  const sent = request({ host: '127.0.0.1', port, path, method, headers }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer) text += String(chunk)
  return { status: answer.statusCode ?? 0, headers: answer.headers, text }
}

const names = (seen: Seen): string[] => seen.headers.map(([name]) => name.toLowerCase())

describe('ports by the path of a link', () => {
  const pathLink = async (): Promise<URL> => {
    const json = { form: 'path' }
    const made = await server.json<{ url: string }>('POST', `${base}/ports/8080/link`, { json, status: 201 })
    return new URL(made.url)
  }

  it('opens in a browser, which keeps the token in relative addresses, without an origin for its scripts', async () => {
    const { host: api, pathname } = await pathLink()
    expect(api).toBe(new URL(server.url).host)
    const page = await ask(`${pathname}page`, { host: api, accept: 'text/html' })
    expect(page.status).toBe(200)
    expect(page.headers['content-security-policy']).toMatch(/^sandbox allow-scripts (?!.*allow-same-origin)/)
    expect(page.headers).toMatchObject({ 'referrer-policy': 'no-referrer', 'access-control-allow-origin': '*' })
    expect(page.headers['set-cookie']).toBeUndefined()
    const sent = { host: api, cookie: 'a=1; hearth_preview=t', authorization: 'Bearer app-token' }
    const seen = JSON.parse((await ask(`${pathname}x?q=1`, sent)).text) as Seen
    expect(seen.path).toBe('/x?q=1')
    expect(names(seen)).not.toContain('cookie')
    expect(Object.fromEntries(seen.headers)).toMatchObject({ authorization: 'Bearer app-token' })
    expect(JSON.stringify(seen)).not.toContain(pathname.split('/')[2])
    const asked = { host: api, origin: 'null', 'access-control-request-method': 'POST' }
    const preflight = await ask(`${pathname}x`, asked, 'OPTIONS')
    expect([preflight.status, preflight.headers['access-control-allow-origin']]).toEqual([204, '*'])
  })

  it('is nothing without its token, and nothing but its port', async () => {
    const { host: api, pathname } = await pathLink()
    const wrong = [
      [pathname.replace(/.\/$/, '/'), 401],
      [pathname.slice(0, -1), 404],
      ['/preview/', 404],
      ['/preview/x/', 401],
    ] as const
    for (const [path, status] of wrong) expect((await ask(path, { host: api })).status, path).toBe(status)
    // The path as it was sent belongs to the program, also where it would lead elsewhere.
    const above = JSON.parse((await ask(`${pathname}../../v1/keys`, { host: api })).text) as Seen
    expect(above.path).toBe('/../../v1/keys')
  })

  it('carries WebSockets', async () => {
    const { pathname } = await pathLink()
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${pathname}socket`, { origin: 'null' })
    const [data] = (await once(socket, 'message')) as [Buffer]
    socket.terminate()
    expect(data.toString('utf8')).not.toContain('hearth_key_')
  })
})

describe('behind a proxy', () => {
  it('has links and headers as its clients see them', async () => {
    await using behind = await TestServer.start({}, { publicUrl: 'https://hearth.test', previewDomain: 'test' })
    const { sandbox, base: below } = await listening(behind)
    const { address } = behind.server
    const answer = await behind.json<{ url: string }>('POST', `${below}/ports/8080/link`, { json: {}, status: 201 })
    const url = new URL(answer.url)
    expect(url.origin).toBe(`https://8080-${sandbox.id.replace('_', '-')}.test`)
    const opened = await ask(`/page${url.search}`, { host: url.host, accept: 'text/html' }, 'GET', address)
    expect(opened.headers['set-cookie']?.[0]).toMatch(/; Secure$/)
    // The API has a name below the domain of previews.
    expect((await ask('/health', { host: 'hearth.test' }, 'GET', address)).status).toBe(200)
    const seen = (await (await behind.call('GET', `${below}/ports/8080/x`)).json()) as Seen
    expect(Object.fromEntries(seen.headers)).toMatchObject({
      'x-forwarded-proto': 'https',
      'x-forwarded-host': 'hearth.test',
    })
  })
})
