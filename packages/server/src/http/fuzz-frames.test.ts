import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { wild } from './testing/arbitrary-json.ts'
import { COUNTER } from './testing/port-programs.ts'
import { TestServer } from './testing/test-server.ts'

const TIME_MS = 8000

let server: TestServer
let base: string

beforeAll(async () => {
  server = await TestServer.start({ messageBytes: 64 * 1024, requestBurst: 1e6 })
  base = `/v1/sandboxes/${(await server.sandbox()).id}`
  await server.json('PUT', `${base}/files?path=/tmp/counter.py`, { body: COUNTER })
  await server.json('POST', `${base}/processes`, { json: { command: ['python3', '/tmp/counter.py'] }, status: 201 })
  await server.json('GET', `${base}/ports/7000/ready`, { status: 204 })
})
afterAll(() => server[Symbol.asyncDispose]())

/** What a client may say, at all or as it should. */
const text = fc.oneof(
  fc.constantFrom(
    '{"type":"eof"}',
    '{"type":"credit","bytes":1}',
    '{"type":"credit","bytes":-1}',
    '{"type":"resize","rows":3,"cols":9}',
    '{"type":"signal","signal":"SIGWINCH"}',
    '{"type":"signal","signal":"\\u0000"}',
    '{',
  ),
  wild.map((value) => JSON.stringify(value) ?? ''),
  wild.map((value) => JSON.stringify({ type: 'resize', rows: value, cols: 1 })),
)
const message = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 300 }),
  fc.constant(new Uint8Array(64 * 1024 + 1)),
  fc.constant('x'.repeat(64 * 1024)),
)

async function attachPath(): Promise<string> {
  const json = { command: 'cat', stdin: 'pipe', timeoutMs: 5000 }
  const { id } = await server.json<{ id: number }>('POST', `${base}/processes`, { json, status: 201 })
  return `${base}/processes/${id}/attach`
}

async function say(path: string, messages: readonly (string | Uint8Array)[]): Promise<void> {
  const headers = { authorization: `Bearer ${server.key}` }
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, { headers })
  socket.on('error', () => {})
  const closed = once(socket, 'close')
  await Promise.race([once(socket, 'open'), closed])
  for (const each of messages) if (socket.readyState === WebSocket.OPEN) socket.send(each)
  socket.close()
  await closed
}

/** Bytes where frames should be. */
async function sendRaw(path: string, parts: readonly Uint8Array[]): Promise<void> {
  const socket = await handshake(path)
  for (const part of parts) socket.write(part)
  const closed = once(socket, 'close')
  setTimeout(() => socket.destroy(), 50)
  await closed
}

async function handshake(path: string): Promise<Socket> {
  const socket = connect(server.server.address.port, '127.0.0.1')
  socket.on('error', () => {})
  const lines = [
    `GET ${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${server.key}`,
    'connection: upgrade',
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg==',
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n`)
  expect(String((await once(socket, 'data'))[0])).toContain('101 Switching Protocols')
  return socket
}

/** The head of a frame with any bits, and perhaps the mask that a client must use. */
const frame = fc
  .tuple(fc.nat(255), fc.nat(255), fc.uint8Array({ maxLength: 40 }))
  .map(([first, second, rest]) => Uint8Array.from([first, second, ...rest]))

describe.each([
  ['attach', attachPath],
  ['a port', async () => `${base}/ports/7000/stream`],
] as const)('the WebSocket of %s', (_, path) => {
  it('survives whatever it is told', { timeout: 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 8 }), async (messages) => await say(await path(), messages)),
      { numRuns: 80, interruptAfterTimeLimit: TIME_MS, endOnFailure: true },
    )
    await isWell()
  })

  it('survives what are no frames', { timeout: 30_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { minLength: 1, maxLength: 4 }), async (parts) => sendRaw(await path(), parts)),
      { numRuns: 80, interruptAfterTimeLimit: TIME_MS, endOnFailure: true },
    )
    await isWell()
  })
})

async function isWell(): Promise<void> {
  const failed = server.lines.filter(({ outcome, code }) => outcome === 'failed' && code === 'internal')
  expect(failed).toEqual([])
  expect(server.problems).toEqual([])
  const active = async (): Promise<string[]> =>
    (await (await server.call('GET', '/metrics')).text())
      .split('\n')
      .filter((line) => line.startsWith('hearth_streams_active{') && !line.endsWith(' 0'))
  await expect.poll(active, { timeout: 5000 }).toEqual([])
  const json = { command: 'echo runs' }
  expect(await server.json('POST', `${base}/exec`, { json })).toMatchObject({ stdout: 'runs\n' })
}
