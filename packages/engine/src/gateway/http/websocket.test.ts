import { once } from 'node:events'
import type { Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket, WebSocketServer, type RawData } from 'ws'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { startServer, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const value = 'sk-live-4f9a8b7c6d5e4f3a2b1c0d9e'
const secrets: Secret[] = [
  { name: 'KEY', value, binding: { name: NAME, placement: { in: 'header', header: 'x-api-key' } } },
]

describe('WebSocket', () => {
  let server: TestServer
  let accepting: WebSocketServer
  let gateway: TestGateway
  let plain: TestGateway
  const seen: { key: unknown; extensions: unknown; messages: string[] }[] = []

  beforeAll(async () => {
    accepting = new WebSocketServer({ noServer: true, perMessageDeflate: true })
    server = await startServer((_request, response) => void response.writeHead(404).end('no'), {
      onUpgrade: (request, socket) => {
        if (request.url === '/refused')
          return void socket.end('HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno')
        accepting.handleUpgrade(request, socket, Buffer.alloc(0), (accepted) => {
          const messages: string[] = []
          const { 'x-api-key': key, 'sec-websocket-extensions': extensions } = request.headers
          seen.push({ key, extensions, messages })
          accepted.on('error', () => undefined)
          accepted.on('message', (data: RawData, binary) => {
            const text = (data as Buffer).toString()
            messages.push(text)
            // The key, once in one piece and once in fragments, in messages that look alike.
            if (text === 'key') accepted.send(`your key is ${value}!`, { binary })
            else if (text === 'fragments') {
              accepted.send(`in parts: ${value.slice(0, 9)}`, { fin: false })
              accepted.send(value.slice(9), { fin: true })
            } else if (text === 'bye') accepted.close(4000, value)
            else accepted.send(data, { binary })
          })
          accepted.on('ping', () => accepted.ping(value))
        })
      },
    })
    const options = { name: NAME, upstreamPort: server.port, upstreamRoot: server.root }
    gateway = await startGateway({ ...options, secrets })
    plain = await startGateway(options)
  })

  afterAll(() => {
    gateway.close()
    plain.close()
    accepting.close()
    server.close()
  })

  async function open(to: TestGateway, path = '/', headers: Record<string, string> = {}): Promise<WebSocket> {
    const socket = new WebSocket(`wss://${NAME}:${to.port}${path}`, {
      ca: to.root,
      autoPong: false,
      headers,
      lookup: (_name, _options, callback) => callback(null, [{ address: '127.0.0.1', family: 4 }]),
    })
    await once(socket, 'open')
    return socket
  }

  async function next(socket: WebSocket): Promise<string> {
    const [data] = (await once(socket, 'message')) as [Buffer]
    return data.toString()
  }

  it('gets the secret in its handshake, and messages without it', async () => {
    const own = gateway.secrets.all[0]?.placeholder ?? ''
    const socket = await open(gateway, '/chat', { 'x-api-key': own })
    expect(seen.at(-1)).toMatchObject({ key: value, extensions: undefined })
    expect(gateway.entries.at(-1)).toMatchObject({ kind: 'request', path: '/chat', status: 101, secrets: ['KEY'] })
    for (const [sent, got] of [
      ['hello', 'hello'],
      ['key', `your key is ${own}!`],
      ['fragments', `in parts: ${own}`],
      ['x'.repeat(200_000), 'x'.repeat(200_000)],
      ['', ''],
    ] as const) {
      const answer = next(socket)
      socket.send(sent)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await answer).toBe(got)
    }
    const pinged = once(socket, 'ping') as Promise<[Buffer]>
    socket.ping('there?')
    expect((await pinged)[0].toString()).toBe(own)
    const closed = once(socket, 'close') as Promise<[number, Buffer]>
    socket.send('bye')
    const [code, reason] = await closed
    expect([code, reason.toString()]).toEqual([4000, own])
  })

  it('ends before a placeholder gets out', async () => {
    const own = gateway.secrets.all[0]?.placeholder ?? ''
    const socket = await open(gateway)
    const closed = once(socket, 'close') as Promise<[number, Buffer]>
    socket.send(`x${own.slice(0, 7)}`, { fin: false })
    socket.send(`${own.slice(7)}y`, { fin: true })
    expect((await closed)[0]).toBe(1008)
    expect(seen.at(-1)?.messages).toEqual([])
    expect(gateway.entries.at(-1)).toMatchObject({ kind: 'refusal', refusal: 'placeholder_misplaced' })
  })

  it('passes as it is where there are no secrets, compressed too', async () => {
    const socket = await open(plain)
    expect(String(seen.at(-1)?.extensions)).toContain('permessage-deflate')
    const answer = next(socket)
    socket.send('z'.repeat(5000))
    expect(await answer).toBe('z'.repeat(5000))
    socket.close()
    await once(socket, 'close')
  })

  it('that the server does not want, or that is for another host', async () => {
    await expect(open(gateway, '/refused')).rejects.toThrow(/401/)
    await expect(open(gateway, '/', { host: 'other.test' })).rejects.toThrow(/403/)
  })
})
