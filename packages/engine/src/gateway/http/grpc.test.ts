import { once } from 'node:events'
import { connect, createSecureServer, type ClientHttp2Session, type Http2SecureServer } from 'node:http2'
import { callbackify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CertificateAuthority } from '../tls/authority.ts'
import { LONGEST_MESSAGE } from './packed-messages.ts'
import { listening, startGateway, type TestGateway } from './inspected.fixture.ts'

const NAME = 'grpc.test'
const value = '8a0c9f4e2d7b6a5c3e1f0d9b8a7c6e5f'
const message = (text: string, content: Buffer = Buffer.from(text), flags = 0): Buffer => {
  const head = Buffer.from([flags, 0, 0, 0, 0])
  head.writeUInt32BE(content.length, 1)
  return Buffer.concat([head, content])
}

/** Messages end with its first character, and must not wait for the next. */
const secrets: Secret[] = [
  {
    name: 'TOKEN',
    value,
    binding: { name: NAME, placement: { in: 'header', header: 'authorization' } },
  },
]

/** What a client of gRPC looks at: the last block of headers, and whether it came with the end of the stream. */
interface Answer {
  readonly headers: Record<string, unknown>
  readonly endedWithHead: boolean
  readonly trailers: Record<string, unknown> | null
  readonly body: string
}

describe('gRPC through opened TLS', () => {
  let server: Http2SecureServer
  let gateway: TestGateway
  let client: ClientHttp2Session
  const seen: Record<string, unknown>[] = []

  beforeAll(async () => {
    const authority = await CertificateAuthority.create()
    server = createSecureServer({ SNICallback: callbackify((name: string) => authority.contextFor(name)) })
    server.on('stream', (stream, headers) => {
      seen.push(headers)
      const head = { ':status': 200, 'content-type': 'application/grpc' }
      if (headers[':path'] === '/Greeter/Missing') {
        stream.respond({ ...head, 'grpc-status': '12', 'grpc-message': 'no such method' }, { endStream: true })
        return
      }
      if (headers[':path'] === '/Greeter/Packed') {
        const text = `${value} and ${Buffer.from(value).toString('base64')}`
        const packed = gzipSync(text)
        stream.respond({ ...head, 'grpc-encoding': 'gzip' }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        const bytes = Buffer.concat([
          message(text, packed, 1),
          message(value),
          message('', gzipSync(''), 1),
          message('', Buffer.alloc(0), 1),
        ])
        for (const byte of bytes) stream.write(Buffer.of(byte))
        stream.end()
        return
      }
      if (headers[':path'] === '/Greeter/Bomb') {
        stream.respond({ ...head, 'grpc-encoding': 'gzip' })
        stream.end(message('', gzipSync(Buffer.alloc(LONGEST_MESSAGE + 1)), 1))
        return
      }
      if (headers[':path'] === '/Greeter/Strange') {
        stream.respond({ ...head, 'grpc-encoding': 'snappy' })
        stream.end(message(value))
        return
      }
      stream.respond(head, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      // Each message is answered at once, before the next one comes.
      stream.on('data', (chunk: Buffer) => void stream.write(message(`got ${chunk.length}`)))
      stream.on('end', () => stream.end())
    })
    server.listen(0, '127.0.0.1')
    const upstreamPort = await listening(server)
    gateway = await startGateway({ name: NAME, upstreamPort, upstreamRoot: authority.certificate, secrets })
    client = connect(`https://${NAME}:${gateway.port}`, { host: '127.0.0.1', ca: gateway.root, servername: NAME })
    client.on('error', () => client.destroy())
  })
  afterAll(() => {
    client.destroy()
    gateway.close()
    server.close()
  })

  async function call(path: string, messages: readonly string[]): Promise<Answer> {
    const stream = client.request({
      ':method': 'POST',
      ':path': path,
      te: 'trailers',
      'grpc-accept-encoding': 'identity, deflate, gzip',
      'content-type': 'application/grpc',
    })
    const head = Promise.withResolvers<Pick<Answer, 'headers' | 'endedWithHead'>>()
    stream.once('response', (headers, flags) => head.resolve({ headers, endedWithHead: (flags & 1) !== 0 }))
    let [trailers, body]: [Answer['trailers'], string] = [null, '']
    stream.once('trailers', (given) => {
      trailers = given
    })
    stream.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1')
    })
    for (const one of messages) {
      const answered = once(stream, 'data')
      stream.write(message(one))
      // oxlint-disable-next-line no-await-in-loop -- each is answered before the next
      await answered
    }
    stream.end()
    await once(stream, 'close')
    return { ...(await head.promise), trailers, body }
  }

  it('messages go both ways in turn, and the status comes in trailers', async () => {
    const answer = await call('/Greeter/Chat', ['one', 'three'])
    expect(answer).toMatchObject({
      headers: { ':status': 200 },
      endedWithHead: false,
      trailers: { 'grpc-status': '0' },
    })
    expect(answer.body).toContain('got 8')
    expect(answer.body).toContain('got 10')
    expect(seen.at(-1)).toMatchObject({ te: 'trailers' })
  })

  it('messages that are packed one by one are unpacked and scrubbed', async () => {
    const answer = await call('/Greeter/Packed', [])
    expect(answer).toMatchObject({ headers: { ':status': 200 }, trailers: { 'grpc-status': '0' } })
    const bytes = Buffer.from(answer.body, 'latin1')
    const messages: string[] = []
    for (let at = 0; at < bytes.length;) {
      expect(bytes[at]).toBe(0)
      const end = at + 5 + bytes.readUInt32BE(at + 1)
      messages.push(bytes.toString('latin1', at + 5, end))
      at = end
    }
    const placeholder = gateway.secrets.all[0]?.placeholder ?? ''
    expect(messages).toEqual([expect.stringMatching(`^${placeholder} and A+`), placeholder, '', ''])
    expect(answer.body).not.toContain(value)
    expect(seen.at(-1)).toMatchObject({ 'grpc-accept-encoding': 'identity' })
  })

  it('what cannot be searched is not passed on', async () => {
    expect(await call('/Greeter/Strange', [])).toMatchObject({ headers: { ':status': 502 } })
    await expect(call('/Greeter/Bomb', [])).rejects.toThrow('NGHTTP2_INTERNAL_ERROR')
  })

  it('an answer that is a status alone stays one', async () => {
    const answer = await call('/Greeter/Missing', [])
    expect(answer).toMatchObject({
      headers: { ':status': 200, 'grpc-status': '12', 'grpc-message': 'no such method' },
      endedWithHead: true,
      body: '',
    })
  })
})
