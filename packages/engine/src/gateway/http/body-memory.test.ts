import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Secret } from '@hearth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { SandboxSecrets } from '../secrets/sandbox-secrets.ts'
import { windowMemory } from './body-memory.ts'
import { Decoded } from './content-coding.ts'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { HTTP_LIMITS } from './limits.ts'
import type { Inbound } from './message.ts'
import { startServer, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const BODY_BYTES = 10_000
const IDLE_MS = 300
const secrets: Secret[] = [
  { name: 'JSON', value: 'json-secret-0123456789', binding: { name: NAME, placement: { in: 'json', field: 'token' } } },
]

interface Upload {
  readonly socket: TLSSocket
  readonly answer: Promise<string>
}

describe('bodies that are read whole', () => {
  let server: TestServer
  const open: { gateways: TestGateway[]; sockets: TLSSocket[] } = { gateways: [], sockets: [] }

  beforeAll(async () => {
    server = await startServer((_request, response, body) => void response.end(`got ${body.length}`))
  })
  afterEach(() => {
    for (const gateway of open.gateways) gateway.close()
    for (const socket of open.sockets) socket.destroy()
  })
  afterAll(() => server.close())

  async function start(limits: Parameters<typeof startGateway>[0]['limits']): Promise<TestGateway> {
    const gateway = await startGateway({
      name: NAME,
      upstreamPort: server.port,
      upstreamRoot: server.root,
      secrets,
      limits: { bodyBytes: BODY_BYTES, ...limits },
    })
    open.gateways.push(gateway)
    return gateway
  }

  async function connected(gateway: TestGateway): Promise<Upload> {
    const socket = connect({ host: '127.0.0.1', port: gateway.port, servername: NAME, ca: gateway.root })
    open.sockets.push(socket)
    socket.on('error', () => socket.destroy())
    await once(socket, 'secureConnect')
    return { socket, answer: once(socket, 'data').then(([chunk]) => (chunk as Buffer).toString()) }
  }

  /** Sends so much of a body. */
  async function upload(gateway: TestGateway, bytes: number): Promise<Upload> {
    const { socket, answer } = await connected(gateway)
    socket.write(
      `POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Type: application/json\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
    )
    socket.write(' '.repeat(bytes))
    return { socket, answer }
  }

  /** When what was sent or broken off before has come to the gateway. */
  async function answerSoon(gateway: TestGateway, expected: RegExp): Promise<void> {
    const ask = async (): Promise<void> => expect(await (await upload(gateway, BODY_BYTES)).answer).toMatch(expected)
    await vi.waitFor(ask, { timeout: 10_000 })
  }

  it('take so much of a sandbox at one time', async () => {
    const gateway = await start({ sandboxBodyBytes: 1.5 * BODY_BYTES })
    const first = await upload(gateway, BODY_BYTES - 1)
    await answerSoon(gateway, /^HTTP\/1\.1 403 [^]*"budget_exhausted"/)
    expect(gateway.entries.at(-1)).toMatchObject({ kind: 'refusal', refusal: 'budget_exhausted' })
    first.socket.write(' ')
    expect(await first.answer).toContain('200')
    await answerSoon(gateway, /^HTTP\/1\.1 200/)
    // One that goes gives back what it held.
    const gone = await upload(gateway, BODY_BYTES - 1)
    await answerSoon(gateway, /^HTTP\/1\.1 403/)
    gone.socket.destroy()
    await answerSoon(gateway, /^HTTP\/1\.1 200/)
  })

  it('take so much of all sandboxes together', async () => {
    const [one, other] = [await start({}), await start({ allBodyBytes: 1.5 * BODY_BYTES })]
    await upload(one, BODY_BYTES - 1)
    await answerSoon(other, /^HTTP\/1\.1 503 [^]*"host_full"/)
  })

  it('may stand still for so long', async () => {
    const gateway = await start({ bodyIdleMs: IDLE_MS })
    expect(await (await upload(gateway, 5)).answer).toMatch(/^HTTP\/1\.1 403 [^]*stood still/)
  })

  it('that are packed take what must be kept to unpack them, of a sandbox and of all', async () => {
    const packed = brotliCompressSync(Buffer.alloc(20 * 1024 * 1024), {
      params: { [constants.BROTLI_PARAM_LGWIN]: 24 },
    })
    expect(packed.length).toBeLessThan(100)
    const answerWith = async (limits: Parameters<typeof start>[0]): Promise<string> => {
      const { socket, answer } = await connected(await start(limits))
      const head = `POST / HTTP/1.1\r\nHost: ${NAME}\r\nContent-Encoding: br\r\nContent-Length: ${packed.length}\r\n\r\n`
      socket.write(head)
      socket.write(packed)
      return await answer
    }
    expect(await answerWith({})).toMatch(/^HTTP\/1\.1 200/)
    expect(await answerWith({ sandboxWindowBytes: 10_000_000 })).toMatch(/^HTTP\/1\.1 403 [^]*"budget_exhausted"/)
    expect(await answerWith({ allWindowBytes: 10_000_000 })).toMatch(/^HTTP\/1\.1 503 [^]*"host_full"/)
  })

  it('give back what they took of a sandbox at the end of the answer', () => {
    const limits = { ...HTTP_LIMITS, sandboxWindowBytes: 10 }
    const sandbox = new SandboxSecrets(secrets)
    const answered = (): { readonly sink: PassThrough; readonly claim: (bytes: number) => void } => {
      const sink = new PassThrough()
      // SAFETY: nothing else of a request is looked at.
      return { sink, claim: windowMemory(sandbox, { reply: { sink } } as unknown as Inbound, limits) }
    }
    const [first, second, third] = [answered(), answered(), answered()]
    first.claim(4)
    first.claim(4)
    expect(() => second.claim(3)).toThrow(/10 bytes/)
    first.sink.emit('close')
    third.claim(10)
  })

  it('no answer makes the gateway keep more than the web allows', async () => {
    const text = Buffer.alloc(20 * 1024 * 1024)
    const unpacked = async (coding: string, packed: Buffer): Promise<number> => {
      let claimed = 0
      const decoded = new Decoded(coding, (bytes) => void (claimed += bytes))
      decoded.end(packed)
      for await (const chunk of decoded) expect((chunk as Buffer).length).toBeGreaterThan(0)
      return claimed
    }
    const zstd = (bits: number): Buffer => zstdCompressSync(text, { params: { [constants.ZSTD_c_windowLog]: bits } })
    expect(await unpacked('zstd', zstd(23))).toBe(2 ** 23)
    await expect(unpacked('zstd', zstd(27))).rejects.toThrow(/memory/)
    expect(await unpacked('br', brotliCompressSync(text))).toBe(2 ** 24)
    expect(await unpacked('gzip', gzipSync(text))).toBe(0)
  })
})
