import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Secret } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import { curlFor, startServer, type Curl, type TestServer } from './servers.fixture.ts'

const NAME = 'api.test'
const values = {
  header: 'sk-live-4f9a8b7c6d5e4f3a2b1c0d9e',
  basic: 'ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  query: 'qk "strange/value"+with%25 & signs 42',
  json: 'json-secret-"quoted"-0123456789',
  narrow: 'narrow-0123456789abcdefghij',
}
const secrets: Secret[] = [
  { name: 'HEADER', value: values.header, binding: { name: NAME, placement: { in: 'header', header: 'x-api-key' } } },
  { name: 'BASIC', value: values.basic, binding: { name: NAME, placement: { in: 'basic' } } },
  { name: 'QUERY', value: values.query, binding: { name: '*.test', placement: { in: 'query', key: 'key' } } },
  { name: 'JSON', value: values.json, binding: { name: NAME, placement: { in: 'json', field: 'auth.token' } } },
  {
    name: 'NARROW',
    value: values.narrow,
    binding: {
      name: NAME,
      placement: { in: 'header', header: 'authorization' },
      methods: ['POST'],
      paths: ['/only/*'],
    },
  },
]

const packers: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: (bytes) => gzipSync(bytes),
  br: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) => zstdCompressSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  'deflate-raw': (bytes) => deflateRawSync(bytes),
  'gzip, br': (bytes) => brotliCompressSync(gzipSync(bytes)),
}

describe('secrets', () => {
  let server: TestServer
  let gateway: TestGateway
  let curl: Curl
  let directory: string
  let remove: () => Promise<void>
  /** What the server was sent once, and gives back to whoever asks later. */
  let stored: Buffer = Buffer.alloc(0)
  const url = (path: string): string => `https://${NAME}:${gateway.port}${path}`
  const placeholder = (name: string): string =>
    gateway.secrets.all.find((secret) => secret.name === name)?.placeholder ?? ''

  beforeAll(async () => {
    server = await startServer((request, response, body) => {
      const packing = new URL(request.url ?? '', 'https://x').searchParams.get('pack')
      const key = String(request.headers['x-api-key'] ?? '')
      if (request.url?.startsWith('/stored') === true) return void response.end(stored)
      const echo = Buffer.from(`${JSON.stringify({ url: request.url, headers: request.headers })}\n${body.toString()}`)
      stored = echo
      if (packing !== null) {
        const packed = packers[packing]?.(echo) ?? echo
        response.writeHead(200, { 'content-encoding': packing.replace('-raw', ''), 'content-length': packed.length })
        return void response.end(packed)
      }
      const headers = { 'x-echo': key, 'x-encoded': Buffer.from(`a${key}`).toString('base64'), trailer: 'x-trailer' }
      response.writeHead(200, headers)
      response.addTrailers({ 'x-trailer': key })
      // In small parts, so that whatever is echoed is cut.
      const part = echo.length < 100_000 ? 7 : 65_536
      for (let at = 0; at < echo.length; at += part) response.write(echo.subarray(at, at + part))
      response.end()
    })
    gateway = await startGateway({ name: NAME, upstreamPort: server.port, upstreamRoot: server.root, secrets })
    ;({ curl, directory, remove } = await curlFor(NAME, gateway.port, gateway.root))
  })

  afterAll(async () => {
    gateway.close()
    server.close()
    await remove()
  })

  /** No value in any notation, in anything that a client got. */
  function expectClean(text: string): void {
    for (const value of Object.values(values)) {
      const forms = [
        value,
        encodeURIComponent(value),
        JSON.stringify(value).slice(1, -1),
        Buffer.from(value).toString('base64'),
      ]
      for (const form of forms) expect(text).not.toContain(form.replace(/=+$/, ''))
      expect(text).not.toContain(Buffer.from(`a${value}`).toString('base64').slice(4, -4))
    }
  }

  describe.each(['--http1.1', '--http2'])('over %s', (version) => {
    it.each([
      ['HEADER', ['-H', 'x-api-key: @'], (name: string) => [name, values.header]],
      ['HEADER', ['-H', 'x-api-key: Bearer @'], (name: string) => [name, `Bearer ${values.header}`]],
      [
        'BASIC',
        ['-u', 'me:@'],
        () => ['authorization', `Basic ${Buffer.from(`me:${values.basic}`).toString('base64')}`],
      ],
      [
        'BASIC',
        ['-u', '@:x-oauth-basic'],
        () => ['authorization', `Basic ${Buffer.from(`${values.basic}:x-oauth-basic`).toString('base64')}`],
      ],
    ] as const)('%s is put in: %j', async (name, args, expected) => {
      const answer = await curl(version, ...args.map((arg) => arg.replace('@', placeholder(name))), url('/echo'))
      expect(answer).toMatchObject({ status: 200, failed: null })
      const [header = '', value = ''] = expected('x-api-key')
      expect(server.requests.at(-1)?.headers[header]).toBe(value)
      expect(gateway.entries.at(-1)).toMatchObject({ kind: 'request', status: 200, secrets: [name], path: '/echo' })
      expectClean(answer.head + answer.body)
      expect(answer.body).toContain(name === 'HEADER' ? placeholder(name) : '/echo')
      const later = await curl(version, url('/stored'))
      expectClean(later.head + later.body)
    })

    it('a query key and a field of JSON', async () => {
      const asked = await curl(version, url(`/echo?a=1&key=${encodeURIComponent(placeholder('QUERY'))}&z=%20`))
      expect(asked.status).toBe(200)
      const got = new URL(server.requests.at(-1)?.url ?? '', 'https://x').searchParams
      expect([got.get('a'), got.get('key'), got.get('z')]).toEqual(['1', values.query, ' '])
      expectClean(asked.head + asked.body)
      const body = `{"big": 12345678901234567890, "auth" : {"token": ${JSON.stringify(placeholder('JSON'))}}}`
      const posted = await curl(version, '-H', 'content-type: application/json', '-d', body, url('/echo'))
      expect(posted.status).toBe(200)
      expect(server.requests.at(-1)?.body.toString()).toBe(
        body.replace(JSON.stringify(placeholder('JSON')), JSON.stringify(values.json)),
      )
      expectClean(posted.head + posted.body)
    })

    it('methods and paths of a binding', async () => {
      const header = `Authorization: token ${placeholder('NARROW')}`
      expect(await curl(version, '-X', 'POST', '-H', header, url('/only/here'))).toMatchObject({ status: 200 })
      for (const [method, path] of [
        ['GET', '/only/here'],
        ['POST', '/only/here/deeper'],
        ['POST', '/only/%2e%2e'],
        ['POST', '/'],
      ] as const) {
        const refused = await curl(version, '--path-as-is', '-X', method, '-H', header, url(path))
        expect(refused).toMatchObject({ status: 403 })
        expect(JSON.parse(refused.body)).toMatchObject({
          error: { code: 'egress_refused', refusal: 'placeholder_misplaced' },
        })
      }
    })

    it.each([
      ['another header', ['-H', 'x-other: @']],
      ['a header next to it', ['-H', 'x-api-key: a, @']],
      ['the header twice', ['-H', 'x-api-key: @', '-H', 'x-api-key: b']],
      ['its name', ['-H', '@: 1']],
      ['a cookie', ['-b', 'session=@']],
      ['Basic, to which it is not bound', ['-u', 'me:@']],
      ['the user agent in base64', ['-A', 'base64:@']],
      ['the path', ['/echo/@']],
      ['the path, escaped', ['/echo/%@']],
      ['the query', ['/echo?other=@']],
      ['the key that another is bound to', ['/echo?key=@']],
      ['the body', ['-d', 'hello @']],
      ['the body in base64', ['-d', 'base64:@']],
      ['the body, escaped', ['-d', '%@']],
      ['a field of JSON', ['-H', 'content-type: application/json', '-d', '{"auth":{"token":"x"},"other":"@"}']],
    ] as const)('a placeholder in %s is refused', async (_where, args) => {
      const secret = placeholder('HEADER')
      const percent = Array.from(secret, (one) => `%${one.charCodeAt(0).toString(16)}`).join('')
      const filled = args.map((arg) =>
        arg
          .replace('base64:@', Buffer.from(`xy${secret}z`).toString('base64'))
          .replace('%@', percent)
          .replace('@', secret),
      )
      const path = filled.find((arg) => arg.startsWith('/'))
      const before = server.requests.length
      const refused = await curl(version, ...filled.filter((arg) => arg !== path), url(path ?? '/echo'))
      expect(refused).toMatchObject({ status: 403 })
      expect(JSON.parse(refused.body)).toMatchObject({ error: { refusal: 'placeholder_misplaced' } })
      expect(gateway.entries.at(-1)).toMatchObject({ kind: 'refusal', refusal: 'placeholder_misplaced' })
      expect(server.requests).toHaveLength(before)
    })

    it.each(Object.keys(packers))('an answer in %s is scrubbed', async (packing) => {
      const header = [
        '-H',
        `x-api-key: ${placeholder('HEADER')}`,
        '-H',
        'accept-encoding: gzip, br, zstd, deflate, compress',
      ]
      const answer = await curl(version, ...header, url(`/echo?pack=${encodeURIComponent(packing)}`))
      expect(answer).toMatchObject({ status: 200, failed: null })
      expect(answer.body).toContain(placeholder('HEADER'))
      expect(answer.head).not.toMatch(/content-encoding/i)
      expect(server.requests.at(-1)?.headers['accept-encoding']).toBe('gzip, br, zstd, deflate')
      expectClean(answer.body)
    })

    it.each(['gzip', 'br', 'zstd', 'deflate'])('a request in %s is looked into', async (packing) => {
      const before = server.requests.length
      const text = `${'filler '.repeat(50_000)}${placeholder('HEADER')}`
      for (const [content, status] of [
        [text, 403],
        ['harmless', 200],
      ] as const) {
        const file = join(directory, 'packed')
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        await writeFile(file, packers[packing]?.(Buffer.from(content)) ?? '')
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const answer = await curl(
          version,
          '-H',
          `content-encoding: ${packing}`,
          '--data-binary',
          `@${file}`,
          url('/echo'),
        )
        expect(answer.status).toBe(status)
      }
      expect(server.requests).toHaveLength(before + 1)
    })

    it('an answer in an encoding that nobody can read is not passed on', async () => {
      const answer = await curl(version, url('/echo?pack=compress'))
      expect(answer.status).toBe(502)
    })

    it('no part of an answer is asked for where a secret is bound', async () => {
      await curl(version, '-r', '3-5', '-H', 'If-Range: "x"', url('/stored'))
      expect(server.requests.at(-1)?.headers).not.toHaveProperty('range')
      expect(server.requests.at(-1)?.headers).not.toHaveProperty('if-range')
    })

    it('a large body is cut before the part with the placeholder', async () => {
      const file = join(directory, 'large')
      await writeFile(file, Buffer.concat([Buffer.alloc(2_000_000, 'x'), Buffer.from(placeholder('BASIC'))]))
      const before = server.requests.length
      const answer = await curl(version, '-T', file, url('/echo'))
      expect(answer.status).toBe(403)
      expect(server.requests).toHaveLength(before)
    })

    it('a body too large for a field of JSON streams, and is still searched', async () => {
      const file = join(directory, 'large.json')
      const large = (token: string): string => `{"auth":{"token":"${token}"},"filler":"${'y'.repeat(5_000_000)}"}`
      const type = ['-H', 'content-type: application/json', '--data-binary', `@${file}`]
      await writeFile(file, large('none'))
      expect(await curl(version, ...type, url('/echo'))).toMatchObject({ status: 200 })
      await writeFile(file, large(JSON.stringify(placeholder('JSON')).slice(1, -1)))
      expect(await curl(version, ...type, url('/echo'))).toMatchObject({ status: 403 })
    })
  })

  it('are never put into plain HTTP', async () => {
    const plain = await startServer((_request, response) => void response.end('ok'), { plain: true })
    const open = await startGateway({
      name: NAME,
      upstreamPort: plain.port,
      upstreamRoot: plain.root,
      secrets,
      secure: false,
    })
    const client = await curlFor(NAME, open.port, open.root)
    const address = `http://${NAME}:${open.port}/`
    expect(await client.curl(address)).toMatchObject({ status: 200 })
    const own = open.secrets.all[0]?.placeholder ?? ''
    expect(await client.curl('-H', `x-api-key: ${own}`, address)).toMatchObject({ status: 403 })
    // The placeholder of another sandbox is a text like any other.
    expect(await client.curl('-H', `x-api-key: ${placeholder('HEADER')}`, address)).toMatchObject({ status: 200 })
    expect(plain.requests.at(-1)?.headers['x-api-key']).toBe(placeholder('HEADER'))
    open.close()
    plain.close()
    await client.remove()
  })
})
