import { duplexPair } from 'node:stream'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { firstLineWatch, readOpening } from './first-bytes.ts'

const never = Promise.withResolvers<never>().promise

async function openingOf(...pieces: readonly (string | Buffer)[]): Promise<string> {
  const [client, stream] = duplexPair()
  const opening = readOpening(stream, never)
  for (const piece of pieces) {
    client.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { kind } = await opening
  const left = (stream.read() as Buffer | null)?.toString('latin1') ?? ''
  expect(left).toBe(pieces.map((piece) => piece.toString('latin1')).join(''))
  return kind
}

describe('the first bytes', () => {
  afterEach(() => vi.useRealTimers())

  test.each([
    [['GET / HTTP/1.1\r\n'], 'http'],
    [['G', 'ET / HTTP/1.1\r\nHost: a\r\n'], 'http'],
    [['\r\n\r\nPOST /a HTTP/1.0\r\n'], 'http'],
    [['get / http/1.1\n'], 'http'],
    [['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], 'http'],
    [['BREW /pot HTTP/1.1\r\n'], 'http'],
    [['SSH-2.0-OpenSSH_9.2\r\n'], 'other'],
    [['ping'], 'other'],
    [['GET key\r\n'], 'other'],
    [[Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])], 'other'],
    [[Buffer.from([22, 3, 1, 0, 0])], 'malformed'],
    [[Buffer.from([5]), Buffer.from([2]), Buffer.from([0, 2])], 'socks'],
    [[Buffer.from([5, 1, 0, 5, 1, 0, 1, 10, 0, 0, 1, 0, 80])], 'socks'],
    [[Buffer.from([4, 1, 0, 80]), Buffer.from([10, 0, 0, 1, 0])], 'socks'],
    // Version 4 and 5 of Cassandra's protocol, and DCE/RPC.
    [[Buffer.from([4, 0, 0, 0, 5, 0, 0, 0, 0])], 'other'],
    [[Buffer.from([5, 0, 0, 0, 5, 0, 0, 0, 0])], 'other'],
    [[Buffer.from([5, 0, 11, 3, 16, 0, 0, 0])], 'other'],
    [[Buffer.from([5, 3, 0, 40, 0])], 'other'],
  ])('%j is %s', async (pieces, kind) => {
    expect(await openingOf(...pieces)).toBe(kind)
  })

  test('that do not come in time, or break off, are not passed on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const [client, stream] = duplexPair()
    const opening = readOpening(stream, never)
    client.write('GET / HT')
    await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(10_001)
    expect(await opening).toEqual({ kind: 'malformed' })
    const [second, broken] = duplexPair()
    second.end('POS')
    expect(await readOpening(broken, never)).toEqual({ kind: 'malformed' })
    const [third, silent] = duplexPair()
    third.end()
    expect(await readOpening(silent, never)).toEqual({ kind: 'nothing' })
  })

  test.each([
    ['a request line', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: other.test\r\n\r\n`],
    ['one of a proxy', `POST http://other.test/${'a'.repeat(20_000)}`],
    ['empty lines', `${'\r\n'.repeat(8191)}GET / HTTP/1.1\r\n`],
    ['more of them', `${'\n'.repeat(20_000)}`],
  ])('%s that nobody would see the end of is not passed on unread', async (_what, text) => {
    expect(['malformed', 'http']).toContain(await openingOf(text))
    expect(['malformed', 'http']).toContain(await openingOf(text.slice(0, 3), text.slice(3, 9), text.slice(9)))
    for (const pieces of [[text], [text.slice(0, 3), text.slice(3, 16_384), text.slice(16_384)]]) {
      const found = vi.fn()
      const watch = firstLineWatch(found)
      for (const piece of pieces) watch(Buffer.from(piece))
      expect(found).toHaveBeenCalledOnce()
    }
  })

  test.each([
    `${'a'.repeat(20_000)}`,
    `{"a": "${'/'.repeat(20_000)}`,
    `set key ${'a'.repeat(20_000)}`,
    '\0'.repeat(20_000),
  ])('what is long and no request is passed on', async (text) => {
    expect(await openingOf(text)).toBe('other')
    const found = vi.fn()
    firstLineWatch(found)(Buffer.from(text))
    expect(found).not.toHaveBeenCalled()
  })

  test('a hello of SSL 2, which servers still take, is one without a name, however it comes', async () => {
    for (const version of [0x0002, 0x0301, 0x0303]) {
      const head = Buffer.from([0x80, 9 + 3 + 16, 1, version >> 8, version & 0xff, 0, 3, 0, 0, 0, 16])
      const hello = Buffer.concat([head, Buffer.alloc(19, 10)])
      // oxlint-disable-next-line no-await-in-loop -- a few of them
      expect(await openingOf(hello)).toBe('hello')
      const found = vi.fn()
      const watch = firstLineWatch(found)
      for (const byte of hello) watch(Buffer.of(byte))
      expect(found).toHaveBeenCalledOnce()
    }
    // A call of Thrift's compact protocol.
    expect(await openingOf(Buffer.from([0x82, 0x21, 1, 3, 0x67, 0x65, 0x74, 0x15, 2, 0, 0, 0]))).toBe('other')
  })

  test('a server that speaks first is not waited for', async () => {
    const [, stream] = duplexPair()
    expect(await readOpening(stream, Promise.resolve())).toEqual({ kind: 'other' })
  })
})
