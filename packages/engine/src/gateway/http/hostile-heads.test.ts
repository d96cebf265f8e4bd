import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import type { Headers } from './message.ts'
import {
  rawRequest,
  sendRaw,
  startRawServer,
  type RawMessage,
  type RawServer,
  type Version,
} from './raw-http.fixture.ts'

const NAME = 'api.test'

const NAMES =
  'etag age date content-type content-length content-encoding host location expires connection te trailer transfer-encoding keep-alive ' +
  'proxy-connection upgrade http2-settings set-cookie cookie x-a X-B :status :path :unknown __proto__ constructor'
const anyName = fc.constantFrom('bad name', '', ...NAMES.split(' '))
const VALUES = [
  '1',
  '',
  'a, b',
  'x'.repeat(120),
  '\u00e9',
  '\u0000',
  '\t',
  ' a',
  'trailers',
  'chunked',
  'gzip',
  '100',
  'close',
]
const anyValue = fc.constantFrom(...VALUES)
const anyHeaders = fc.array(fc.tuple(anyName, anyValue), { maxLength: 4 })
const doubled = fc.tuple(anyName, anyValue).map(([name, value]): Headers => [
  [name, value],
  [name, value],
])
const someHeaders = fc.oneof(fc.constant<Headers>([]), doubled, anyHeaders)
const anyStatus = fc.constantFrom(
  '200',
  '204',
  '304',
  '100',
  '101',
  '102',
  '103',
  '199',
  '205',
  '600',
  '999',
  '000',
  '99',
  'abc',
)

interface Hostile {
  readonly head: Headers
  readonly trailers: Headers
}
const HARMLESS: Hostile = { head: [], trailers: [] }
const anyMessage = fc.record({ head: someHeaders, trailers: someHeaders })

function requestOf({ head, trailers }: Hostile, version: Version): RawMessage {
  const pseudo: Headers = [
    [':method', 'POST'],
    [':scheme', 'https'],
    [':authority', NAME],
    [':path', '/'],
  ]
  const all: Headers = version === 'h2' ? [...pseudo, ...head] : [['Host', NAME], ...head]
  return { line: 'POST / HTTP/1.1', head: all, ahead: [], body: 'asked', trailers }
}

function answerOf(
  { head, trailers }: Hostile,
  version: Version,
  status: string,
  before: readonly string[],
): RawMessage {
  const headOf = (code: string): Headers => (version === 'h2' ? [[':status', code]] : [])
  return {
    line: `HTTP/1.1 ${status} \u00e9`,
    head: [...headOf(status), ...head],
    ahead: before.map((code) => ({ line: `HTTP/1.1 ${code} x`, head: [...headOf(code), ...head] })),
    body: 'said',
    trailers,
  }
}

/** A client of HTTP/1.1 is spoken for in HTTP/1.1 always. */
const PAIRS: readonly (readonly [client: Version, server: readonly Version[]])[] = [
  ['http/1.1', ['http/1.1']],
  ['http/1.1', ['h2', 'http/1.1']],
  ['h2', ['h2']],
  ['h2', ['http/1.1']],
]

describe.each(PAIRS)('a client of %s and a server of %s', (client, offered) => {
  const version = client === 'h2' && offered.includes('h2') ? 'h2' : 'http/1.1'
  const harmless = answerOf(HARMLESS, version, '200', [])
  const uncaught: unknown[] = []
  const note = (error: unknown): void => void uncaught.push(error)
  let server: RawServer
  let gateway: TestGateway

  beforeAll(async () => {
    process.on('uncaughtException', note)
    server = await startRawServer(offered, harmless)
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root })
  })
  afterAll(() => {
    process.off('uncaughtException', note)
    gateway.close()
    server.close()
  })

  async function talk(request: Hostile, answer: RawMessage, awaited?: string): Promise<string> {
    server.answer = answer
    const options = awaited === undefined ? {} : { silenceMs: 5000, awaited }
    return await sendRaw(gateway, NAME, client, rawRequest(requestOf(request, client), client), options)
  }

  async function expectAlive(): Promise<void> {
    expect(uncaught).toEqual([])
    expect(await talk(HARMLESS, harmless, 'said')).toContain('said')
  }

  it('heads and trailers of any kind end their request at the most', async () => {
    const answers = fc.tuple(anyMessage, anyStatus, fc.array(anyStatus, { maxLength: 2 }))
    const requests = fc.oneof(fc.constant(HARMLESS), anyMessage)
    await fc.assert(
      fc.asyncProperty(requests, answers, async (request, [hostile, status, before]) => {
        await talk(request, answerOf(hostile, version, status, before))
        await expectAlive()
      }),
      { numRuns: Number(process.env['HEARTH_FUZZ_ROUNDS'] ?? 40), seed: Number(process.env['HEARTH_FUZZ_SEED'] ?? 7) },
    )
  }, 120_000)

  it.each(['etag', 'age', 'date', 'x-content-type-options'])('%s twice passes, or breaks off', async (name) => {
    const twice: Headers = [
      [name, '1'],
      [name, '2'],
    ]
    await talk({ head: [], trailers: twice }, answerOf({ head: [], trailers: twice }, version, '200', []))
    await expectAlive()
    const answered = answerOf({ head: twice, trailers: [] }, version, '200', [])
    expect(await talk({ head: twice, trailers: [] }, answered, 'said')).toContain('said')
  })

  it.runIf(version === 'http/1.1')('an answer that is packed for its way is not passed on', async () => {
    const packed: Headers = [['transfer-encoding', 'gzip']]
    const answer = answerOf({ head: packed, trailers: [] }, version, '200', [])
    expect(await talk(HARMLESS, answer, 'for the way')).toContain('for the way')
    await expectAlive()
  })

  it('a client that goes when its connection is there', async () => {
    for (let round = 0; round < 20; round++) {
      // oxlint-disable-next-line no-await-in-loop -- one connection after the other
      await sendRaw(gateway, NAME, client, Buffer.alloc(0), { silenceMs: 0 })
    }
    await expectAlive()
  })

  const pipelined = 'GET /1 HTTP/1.1\r\nHost: api.test\r\n\r\n'
  it
    .runIf(client === 'http/1.1')
    .each([
      'GET /2 HTTP/1.1\r\nHost: api.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      'CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n',
    ])('a change of the protocol ahead of an answer: %j', async (second) => {
    await sendRaw(gateway, NAME, client, Buffer.from(pipelined + second))
    expect(gateway.entries.at(-1)).toMatchObject({ kind: 'refusal', refusal: 'malformed' })
    await expectAlive()
  })
})
