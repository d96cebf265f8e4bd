import { once } from 'node:events'
import { connect as connectHttp2, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import { Agent, request as startRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { LookupFunction } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { Policy } from '@hearth/contract'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { startServer, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'

/** What the server of these tests sees of a client that has gone. */
let gone: string[] = []

describe('what is under way when the policy withdraws its path or method', () => {
  let server: TestServer
  let gateway: TestGateway
  const accepting = new WebSocketServer({ noServer: true })
  const withPaths = (...paths: string[]): Policy => ({ allow: [{ name: NAME, ports: [gateway.port], paths }] })

  beforeAll(async () => {
    server = await startServer(
      (request, response) => {
        response.once('close', () => gone.push(request.url ?? ''))
        if (request.url === '/late') return
        if (request.url === '/whole') return void response.end('whole')
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: first\n\n')
      },
      {
        onUpgrade: (request, socket) =>
          accepting.handleUpgrade(request, socket, Buffer.alloc(0), (accepted) => {
            accepted.on('error', () => undefined).on('close', () => gone.push('/socket'))
          }),
      },
    )
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root })
  })

  beforeEach(() => {
    gone = []
    gateway.entries.length = 0
    gateway.setPolicy({ allow: [{ name: NAME, ports: [gateway.port], paths: ['/**'] }] })
  })

  afterAll(() => {
    gateway.close()
    server.close()
    accepting.close()
  })

  const refusals = (): unknown[] => gateway.entries.filter(({ kind }) => kind === 'refusal')
  const lookup: LookupFunction = (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }])

  function ask(path: string, agent?: Agent, method = 'GET'): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    const options = { host: NAME, port: gateway.port, path, method, ca: gateway.root, lookup, agent: agent ?? false }
    startRequest(options, resolve).once('error', reject).end()
    return promise
  }

  async function session(): Promise<ClientHttp2Session> {
    const socket = connectTls({
      host: '127.0.0.1',
      port: gateway.port,
      servername: NAME,
      ca: gateway.root,
      ALPNProtocols: ['h2'],
    })
    await once(socket, 'secureConnect')
    return connectHttp2(`https://${NAME}:${gateway.port}`, { createConnection: () => socket })
  }

  it('a stream of events over HTTP/1.1 breaks off, and others go on', async () => {
    const [ending, staying] = await Promise.all([ask('/withdrawn'), ask('/stays')])
    await once(ending, 'data')
    staying.on('error', () => undefined)
    await once(staying, 'data')
    gateway.setPolicy(withPaths('/stays'))
    const [error] = (await once(ending, 'error')) as [Error]
    expect(error.message).toContain('aborted')
    await vi.waitFor(() => expect(gone).toContain('/withdrawn'))
    expect(refusals()).toMatchObject([{ refusal: 'path_not_allowed', method: 'GET', path: '/withdrawn', process: 7 }])
    gateway.setPolicy(withPaths('/none'))
    await vi.waitFor(() => expect(gone).toContain('/stays'))
  })

  it('a request that waits for its answer is answered with the refusal, and not asked again', async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    // The connection to the server has served another: that alone would make it worth another try.
    const first = await ask('/whole', agent)
    await once(first.resume(), 'end')
    const asked = server.requests.length
    const answered = ask('/late', agent)
    await vi.waitFor(() => expect(server.requests.length).toBe(asked + 1))
    gateway.setPolicy({ allow: [{ name: NAME, ports: [gateway.port], methods: ['POST'] }] })
    const response = await answered
    let body = ''
    for await (const chunk of response) body += String(chunk)
    expect(response.statusCode).toBe(403)
    expect(JSON.parse(body)).toMatchObject({ error: { refusal: 'method_not_allowed' } })
    await vi.waitFor(() => expect(gone).toContain('/late'))
    expect(server.requests.length).toBe(asked + 1)
    agent.destroy()
  })

  it('a stream of HTTP/2 breaks off, and others of its connection go on', async () => {
    const client = await session()
    const open = async (path: string): Promise<ClientHttp2Stream> => {
      const stream = client.request({ ':path': path })
      await once(stream, 'data')
      return stream
    }
    const [ending, staying] = [await open('/withdrawn'), await open('/stays')]
    staying.on('error', () => undefined)
    gateway.setPolicy(withPaths('/stays'))
    await once(ending, 'error')
    expect(ending.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR)
    await vi.waitFor(() => expect(gone).toContain('/withdrawn'))
    expect(staying.closed).toBe(false)
    expect(refusals()).toMatchObject([{ refusal: 'path_not_allowed', path: '/withdrawn' }])
    gateway.setPolicy(withPaths('/none'))
    await vi.waitFor(() => expect(gone).toContain('/stays'))
    client.destroy()
  })

  it('a WebSocket is closed with the reason', async () => {
    const socket = new WebSocket(`wss://${NAME}:${gateway.port}/socket`, { ca: gateway.root, lookup })
    await once(socket, 'open')
    gateway.setPolicy(withPaths('/other'))
    const [code, reason] = (await once(socket, 'close')) as [number, Buffer]
    expect([code, reason.toString()]).toEqual([1008, expect.stringContaining('does not allow GET /socket')])
    await vi.waitFor(() => expect(gone).toContain('/socket'))
    expect(refusals()).toMatchObject([{ refusal: 'path_not_allowed', method: 'GET', path: '/socket' }])
  })
})
