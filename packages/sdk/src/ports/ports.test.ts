import { once } from 'node:events'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocketServer, type WebSocket as ServerSocket } from 'ws'
import type { RemoteSandbox } from '../index.ts'
import * as script from '../testing/scripted-server.fixture.ts'
import { ID } from '../testing/scripted-server.fixture.ts'

const BASE = `/sandboxes/${ID}`
const WINDOW = 1024 * 1024

let server: script.ScriptedServer
let sockets: WebSocketServer
let sandbox: RemoteSandbox
/** What the server does with a connection. */
let serve: (socket: ServerSocket, request: { readonly url: string; readonly protocols: string[] }) => void

beforeEach(async () => {
  server = await script.ScriptedServer.listen()
  server.on(`GET ${BASE}`, script.json(script.view()))
  sockets = new WebSocketServer({ noServer: true, handleProtocols: () => 'hearth' })
  server.http.on('upgrade', (request, socket, head) => {
    const protocols = (request.headers['sec-websocket-protocol'] ?? '').split(/,\s*/)
    sockets.handleUpgrade(request, socket, head, (accepted) => serve(accepted, { url: request.url ?? '', protocols }))
  })
  sandbox = await server.client().get(ID)
})
afterEach(async () => {
  for (const client of sockets.clients) client.terminate()
  await server[Symbol.asyncDispose]()
})

function tell(socket: ServerSocket, message: object): void {
  socket.send(JSON.stringify(message))
}

async function collect(data: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of data) parts.push(part)
  return Buffer.concat(parts)
}

describe('connect', () => {
  test('bytes go both ways, and each side ends by itself', async () => {
    const seen: unknown[] = []
    serve = (socket, request) => {
      seen.push(request)
      tell(socket, { type: 'open' })
      socket.on('message', (data: Buffer, isBinary) => {
        if (isBinary) return socket.send(data)
        const message = JSON.parse(data.toString()) as { type: string }
        if (message.type !== 'eof') return
        socket.send(Buffer.from('|end'))
        tell(socket, { type: 'eof' })
      })
    }
    await using connection = await sandbox.port(8080).connect()
    await connection.write(Buffer.from('hello'))
    await connection.end()
    expect((await collect(connection.data)).toString()).toBe('hello|end')
    await expect(connection.write(Buffer.from('late'))).rejects.toMatchObject({ code: 'port_refused' })
    expect(seen).toEqual([{ url: `/v1${BASE}/ports/8080/stream`, protocols: ['hearth', 'hearth-key.hearth_test'] }])
  })

  test('the server sends no more than is taken, and all of it arrives', async () => {
    const whole = Buffer.alloc(5 * WINDOW, 'abc')
    let most = 0
    serve = (socket) => {
      let sent = 0
      let credited = 0
      const send = (): void => {
        while (sent < whole.length && sent - credited < WINDOW) {
          const piece = whole.subarray(sent, Math.min(sent + 60_000, credited + WINDOW))
          socket.send(piece)
          sent += piece.length
          most = Math.max(most, sent)
        }
        if (sent === whole.length) tell(socket, { type: 'eof' })
      }
      tell(socket, { type: 'open' })
      send()
      socket.on('message', (data: Buffer) => {
        credited += (JSON.parse(data.toString()) as { bytes: number }).bytes
        send()
      })
    }
    await using connection = await sandbox.port(8080).connect()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect(most).toBe(WINDOW)
    expect((await collect(connection.data)).equals(whole)).toBe(true)
  })

  test('a server that sends more is cut off', async () => {
    serve = (socket) => {
      tell(socket, { type: 'open' })
      for (let index = 0; index < 20; index++) socket.send(Buffer.alloc(100_000))
    }
    await using connection = await sandbox.port(8080).connect()
    await new Promise((resolve) => setTimeout(resolve, 100))
    await expect(collect(connection.data)).rejects.toMatchObject({ code: 'protocol_violation' })
  })

  test('refusals keep their code', async () => {
    serve = (socket) => {
      tell(socket, { type: 'error', error: { code: 'port_refused', message: 'nothing listens', retryable: true } })
      socket.close(1011)
    }
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'port_refused', retryable: true })
    serve = (socket) => socket.close(1011)
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'link_lost' })
    serve = (socket) => socket.send('no json')
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'protocol_violation' })
  })

  test('a refusal before the upgrade is explained by a plain request', async () => {
    server.http.removeAllListeners('upgrade')
    server.http.on('upgrade', (_, socket) => socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n'))
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'link_lost' })
    server.on(`GET ${BASE}`, script.failure(401, 'unauthorized', 'no'))
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'unauthorized' })
    server.on(`GET ${BASE}`, script.failure(404, 'sandbox_not_found', 'no'))
    await expect(sandbox.port(8080).connect()).rejects.toMatchObject({ code: 'sandbox_ended' })
  })

  test('a connection that breaks, and one that is reset', async () => {
    serve = (socket) => {
      tell(socket, { type: 'open' })
      socket.send(Buffer.from('begin'))
      setTimeout(() => socket.terminate(), 30)
    }
    await using broken = await sandbox.port(8080).connect()
    await expect(collect(broken.data)).rejects.toMatchObject({ code: 'link_lost' })
    await expect(broken.write(Buffer.from('x'))).rejects.toMatchObject({ code: 'link_lost' })
  })

  test('giving up, and letting go, close the socket', async () => {
    let closed = 0
    serve = (socket) => socket.on('close', () => closed++)
    const waiting = sandbox.port(8080).connect({ signal: AbortSignal.timeout(40) })
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    await expect(sandbox.port(8080).connect({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(() => closed).toBe(1)
    serve = (socket) => {
      socket.on('close', () => closed++)
      tell(socket, { type: 'open' })
      socket.send(Buffer.from('x'))
    }
    const connection = await sandbox.port(8080).connect()
    for await (const part of connection.data) {
      expect(part).toHaveLength(1)
      break
    }
    await expect.poll(() => closed).toBe(2)
  })

  test('a writer waits while much is under way', async () => {
    serve = (socket) => {
      tell(socket, { type: 'open' })
      socket.pause()
      setTimeout(() => socket.resume(), 300)
    }
    await using connection = await sandbox.port(8080).connect()
    const started = Date.now()
    for (let index = 0; index < 16; index++) await connection.write(Buffer.alloc(WINDOW))
    expect(Date.now() - started).toBeGreaterThan(200)
  })

  test('without a WebSocket', async () => {
    const { WebSocket } = globalThis
    Reflect.deleteProperty(globalThis, 'WebSocket')
    try {
      const bare = await server.client().get(ID)
      const error = await bare
        .port(8080)
        .connect()
        .catch((reason: unknown) => reason)
      expect(error).toMatchObject({
        code: 'capability_unsupported',
        suggestion: expect.stringContaining('WebSocket') as unknown,
      })
      serve = (socket) => tell(socket, { type: 'open' })
      const given = await server.client({ WebSocket }).get(ID)
      await using connection = await given.port(8080).connect()
      await connection.end()
    } finally {
      globalThis.WebSocket = WebSocket
    }
  })

  test('a key that a WebSocket cannot carry', async () => {
    const odd = await server.client({ apiKey: 'odd,key=' }).get(ID)
    await expect(odd.port(8080).connect()).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('ports that are none', () => {
    for (const port of [0, -1, 65_536, 1.5, Number.NaN]) expect(() => sandbox.port(port)).toThrow('port')
  })
})

describe('ready', () => {
  const PATH = `GET ${BASE}/ports/8080/ready`
  const late = script.failure(504, 'timeout', 'not yet', { retryable: true })

  test('asks until something listens', async () => {
    server.on(PATH, late, late, (_, response) => void response.writeHead(204).end())
    await sandbox.port(8080).ready({ timeoutMs: 60_000 })
    expect(server.asked(PATH).map((request) => request.query.get('timeoutMs'))).toEqual(['20000', '20000', '20000'])
  })

  test('or until the time is over, or the caller gives up', async () => {
    server.on(PATH, async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, Number(request.query.get('timeoutMs'))))
      late(request, response)
    })
    await expect(sandbox.port(8080).ready({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' })
    const waiting = sandbox.port(8080).ready({ signal: AbortSignal.timeout(50) })
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
  })
})

test('requests to the program behind a port, and links to it', async () => {
  server.on(`GET ${BASE}/ports/8080/path`, (_, response) => void response.writeHead(418).end('teapot'))
  const port = sandbox.port(8080)
  const response = await port.fetch('/path?a=b', { headers: { 'x-own': '1' } })
  expect([response.status, await response.text()]).toEqual([418, 'teapot'])
  const [request] = server.asked(`GET ${BASE}/ports/8080/path`)
  expect(request?.headers).toMatchObject({ authorization: 'Bearer hearth_test', 'x-own': '1' })
  expect(port.url).toBe(`${server.url}/v1${BASE}/ports/8080/`)
  for (const path of ['relative', '', '/../../stats', '/%2e%2E/../stats', '/a/../../9090/x', '\\..\\..']) {
    await expect(port.fetch(path), path).rejects.toMatchObject({ code: 'invalid_request' })
  }
  server.on(`POST ${BASE}/ports/8080/link`, script.json({ url: 'http://x.test', expiresAt: new Date(0).toISOString() }))
  expect(await port.link({ ttlMs: 5000 })).toEqual({ url: 'http://x.test', expiresAt: new Date(0) })
})

test('an upgrade is closed at the end of a test', async () => {
  serve = (socket) => tell(socket, { type: 'open' })
  const connection = await sandbox.port(8080).connect()
  const [socket] = sockets.clients
  await connection.close()
  if (socket !== undefined && socket.readyState !== socket.CLOSED) await once(socket, 'close')
  expect(sockets.clients.size).toBe(0)
})
