import { createHash, randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { FileView } from '@hearth/contract'
import { readEvents } from './testing/events.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let base: string
let files: string

beforeAll(async () => {
  server = await TestServer.start({ uploadBytes: 64 * 1024 * 1024, bodyIdleMs: 400, formFiles: 3 })
  base = `/v1/sandboxes/${(await server.sandbox()).id}`
  files = `${base}/files`
})
afterAll(() => server[Symbol.asyncDispose]())

const put = (path: string, body: RequestInit['body'], query = ''): Promise<FileView> =>
  server.json('PUT', `${files}?path=${encodeURIComponent(path)}${query}`, { body: body ?? '' })
const text = async (path: string): Promise<string> =>
  await (await server.call('GET', `${files}?path=${encodeURIComponent(path)}`)).text()

describe('raw files', () => {
  it('goes in and comes out', async () => {
    expect(await put('/tmp/a/b c.txt', 'hellö', '&mode=0600')).toMatchObject({
      path: '/tmp/a/b c.txt',
      size: 6,
      mode: 0o600,
    })
    const answer = await server.call('GET', `${files}?path=/tmp/a/b%20c.txt`)
    expect(await answer.text()).toBe('hellö')
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'content-length': '6',
      'content-type': 'application/octet-stream',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
    })
    expect(answer.headers.has('access-control-allow-origin')).toBe(false)
  })

  it('gives ranges', async () => {
    await put('/tmp/range', '0123456789')
    const range = async (
      header: string,
      extra: Record<string, string> = {},
    ): Promise<[number, string, string | null]> => {
      const answer = await server.call('GET', `${files}?path=/tmp/range`, { headers: { range: header, ...extra } })
      return [answer.status, await answer.text(), answer.headers.get('content-range')]
    }
    expect(await range('bytes=2-4')).toEqual([206, '234', 'bytes 2-4/10'])
    expect(await range('bytes=7-')).toEqual([206, '789', 'bytes 7-9/10'])
    expect(await range('bytes=-3')).toEqual([206, '789', 'bytes 7-9/10'])
    expect(await range('bytes=5-500')).toEqual([206, '56789', 'bytes 5-9/10'])
    expect(await range('bytes=0-1,3-4')).toEqual([200, '0123456789', null])
    expect(await range('bytes=4-2')).toEqual([200, '0123456789', null])
    expect(await range('rows=1-2')).toEqual([200, '0123456789', null])
    const [status, body, contentRange] = await range('bytes=10-')
    expect([status, JSON.parse(body), contentRange]).toMatchObject([
      416,
      { error: { code: 'range_unsatisfiable' } },
      'bytes */10',
    ])
    const etag = (await server.call('HEAD', `${files}?path=/tmp/range`)).headers.get('etag') ?? ''
    expect((await range('bytes=0-0', { 'if-range': etag }))[0]).toBe(206)
    expect((await range('bytes=0-0', { 'if-range': '"other"' }))[0]).toBe(200)
  })

  it('streams what is large, both ways', async () => {
    const chunk = randomBytes(1024 * 1024)
    const hash = createHash('sha256')
    async function* pieces(): AsyncGenerator<Uint8Array> {
      for (let index = 0; index < 48; index++) {
        hash.update(chunk)
        yield chunk
      }
    }
    const body = ReadableStream.from(pieces()) as unknown as RequestInit['body']
    expect(await put('/tmp/large', body)).toMatchObject({ size: 48 * 1024 * 1024 })
    const answer = await server.call('GET', `${files}?path=/tmp/large`)
    const received = createHash('sha256')
    for await (const part of answer.body as unknown as AsyncIterable<Uint8Array>) received.update(part)
    expect(received.digest('hex')).toBe(hash.digest('hex'))
  })

  it('reads files that have no size', async () => {
    expect(await text('/proc/self/status')).toContain('Name:')
  })

  it('refuses a body that is too large, with or without its length', async () => {
    const large = Buffer.alloc(65 * 1024 * 1024)
    const stream = ReadableStream.from([large]) as unknown as RequestInit['body']
    for (const body of [large, stream]) {
      const refused = await server.call('PUT', `${files}?path=/tmp/too-large`, { body: body ?? '' })
      expect([refused.status, await refused.json()]).toMatchObject([413, { error: { code: 'body_too_large' } }])
    }
    expect((await server.call('GET', `${files}?path=/tmp/too-large`)).status).toBe(404)
  })

  it('keeps the old file when an upload breaks off or stalls', async () => {
    await put('/tmp/atomic', 'old')
    const cut = async (end: (upload: ReturnType<typeof request>) => void): Promise<string> => {
      const upload = request(`${server.url}${files}?path=/tmp/atomic`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${server.key}`, 'content-length': '1000' },
      })
      upload.write('new')
      return await new Promise<string>((resolve) => {
        upload.on('error', () => resolve('broken'))
        upload.on('response', (answer) => resolve(String(answer.statusCode)))
        setTimeout(() => end(upload), 100)
      })
    }
    expect(await cut((upload) => upload.destroy())).toBe('broken')
    expect(await cut(() => {})).toBe('408')
    expect(await text('/tmp/atomic')).toBe('old')
  })

  it('appends, refuses to replace, and says what is not there', async () => {
    await put('/tmp/more', 'a')
    await put('/tmp/more', 'b', '&append=true')
    expect(await text('/tmp/more')).toBe('ab')
    expect(await server.refusal('PUT', `${files}?path=/tmp/more&exclusive=true`, { body: 'c' })).toMatchObject({
      status: 409,
      code: 'file_exists',
    })
    expect(await server.refusal('GET', `${files}?path=/tmp/none`)).toMatchObject({
      status: 404,
      code: 'file_not_found',
    })
    expect(await server.refusal('GET', `${files}?path=/tmp`)).toMatchObject({ status: 409, code: 'is_a_directory' })
    for (const wrong of [
      '',
      '?path=relative',
      '?path=%00',
      `?path=/${'x'.repeat(5000)}`,
      '?path=/tmp/x&mode=999',
      '?path=/x&parents=yes',
    ]) {
      expect(await server.refusal('PUT', `${files}${wrong}`, { body: 'x' }), wrong).toMatchObject({ status: 400 })
    }
  })
})

describe('several files and trees', () => {
  it('writes the fields of a form', async () => {
    const form = new FormData()
    form.append('/tmp/form/one', new Blob(['1'.repeat(100_000)]), 'ignored')
    form.append('/tmp/form/"two"', new Blob(['two']))
    const { items } = await server.json<{ items: FileView[] }>('POST', files, { body: form })
    expect(items.map(({ path, size }) => [path, size])).toEqual([
      ['/tmp/form/one', 100_000],
      ['/tmp/form/"two"', 3],
    ])
    expect(await text('/tmp/form/"two"')).toBe('two')
    const bad = new FormData()
    bad.append('relative', 'x')
    expect(await server.refusal('POST', files, { body: bad })).toMatchObject({ status: 400 })
    expect(await server.refusal('POST', files, { json: {} })).toMatchObject({ status: 415 })
    const headers = { 'content-type': 'multipart/form-data; boundary=x' }
    expect(await server.refusal('POST', files, { body: '--x\r\nnothing', headers })).toMatchObject({ status: 400 })
  })

  it('writes so many fields of a form and no more', async () => {
    const form = new FormData()
    for (const name of ['a', 'b', 'c', 'd']) form.append(`/tmp/many/${name}`, name)
    expect(await server.refusal('POST', files, { body: form })).toMatchObject({
      status: 400,
      code: 'invalid_request',
      message: expect.stringContaining('fields'),
    })
    expect(await text('/tmp/many/c')).toBe('c')
    expect(await server.refusal('GET', `${files}?path=/tmp/many/d`)).toMatchObject({ code: 'file_not_found' })
  })

  it('changes names, links and modes', async () => {
    const change = (what: string, json: object): Promise<unknown> =>
      server.json('POST', `${files}/${what}`, { json, status: 204 })
    await change('directory', { path: '/tmp/tree/deep', parents: true, mode: 0o711 })
    await put('/tmp/tree/deep/x', 'x')
    await change('rename', { path: '/tmp/tree/deep/x', to: '/tmp/tree/y' })
    await change('symlink', { path: '/tmp/tree/link', target: 'y' })
    await change('mode', { path: '/tmp/tree/y', mode: 0o640 })
    const { items } = await server.json<{ items: FileView[] }>('GET', `${files}/list?path=/tmp/tree`)
    expect(items.map(({ name, type, mode }) => [name, type, mode & 0o777])).toEqual([
      ['deep', 'directory', 0o711],
      ['link', 'symlink', 0o777],
      ['y', 'file', 0o640],
    ])
    expect(await server.json('GET', `${files}/stat?path=/tmp/tree/link`)).toMatchObject({ type: 'file', size: 1 })
    expect(await server.json('GET', `${files}/stat?path=/tmp/tree/link&follow=false`)).toMatchObject({
      type: 'symlink',
      target: 'y',
    })
    expect(await server.refusal('DELETE', `${files}?path=/tmp/tree`)).toMatchObject({ code: 'directory_not_empty' })
    await server.json('DELETE', `${files}?path=/tmp/tree&recursive=true`, { status: 204 })
    await server.json('DELETE', `${files}?path=/tmp/tree&force=true`, { status: 204 })
  })

  it('packs and unpacks', async () => {
    await put('/tmp/pack/a', 'A')
    await put('/tmp/pack/sub/b', 'B')
    const tar = await (await server.call('GET', `${files}/archive?path=/tmp/pack`)).arrayBuffer()
    await server.json('PUT', `${files}/archive?path=/tmp/unpacked`, { body: tar, status: 204 })
    const { stdout } = await server.json<{ stdout: string }>('POST', `${base}/exec`, {
      json: { command: 'cd /tmp/unpacked && find . -type f | xargs cat' },
    })
    expect(['AB', 'BA']).toContain(stdout)
    expect((await server.call('PUT', `${files}/archive?path=/tmp/bad`, { body: randomBytes(2048) })).status).toBe(422)
    expect((await server.call('GET', `${files}/archive?path=/tmp/nowhere`)).status).toBe(404)
  })

  it('follows changes', async () => {
    await put('/tmp/watched/seed', '')
    const events = readEvents(await server.call('GET', `${base}/watch?path=/tmp/watched&recursive=true`))
    expect((await events.next()).value).toEqual({ type: 'watching' })
    await put('/tmp/watched/new', 'x')
    expect((await events.next()).value).toMatchObject({ type: 'change', path: expect.stringContaining('/tmp/watched') })
    await events.return()
    expect(await server.refusal('GET', `${base}/watch?path=/nowhere`)).toMatchObject({ status: 404 })
  })
})
