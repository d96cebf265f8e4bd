import { afterAll, describe, expect, test } from 'vitest'
import { E2bRaw, json } from './support/e2b-raw.ts'
import { toBinary } from '../packages/server/src/dialects/e2b/connect/binary-codec.ts'
import { frame } from '../packages/server/src/dialects/e2b/connect/frames.ts'
import type { Reply } from './support/e2b-server.ts'

const raw = await E2bRaw.start()
const { sandbox } = raw
afterAll(() => raw[Symbol.asyncDispose]())

/** The messages of a stream, and how it ended. */
function framesOf({ body }: Reply): { readonly messages: Buffer[]; readonly end: unknown } {
  const messages: Buffer[] = []
  for (let at = 0; at < body.length;) {
    const payload = body.subarray(at + 5, at + 5 + body.readUInt32BE(at + 1))
    if (body[at] === 2) return { messages, end: JSON.parse(payload.toString()) }
    messages.push(payload)
    at += 5 + payload.length
  }
  throw new Error('the stream has no end')
}

describe('messages', () => {
  const request = { process: { cmd: 'sh', args: ['-c', 'echo $0; exit 2', 'x'], envs: {} }, stdin: false } as const

  test('come in both codecs, with a beginning and an end', async () => {
    const asJson = framesOf(await raw.start([frame(0, Buffer.from(JSON.stringify(request)))]))
    expect(asJson.messages.map((message) => JSON.parse(message.toString()) as object)).toEqual([
      { event: { start: { pid: expect.any(Number) } } },
      { event: { data: { stdout: 'eAo=' } } },
      { event: { end: { exitCode: 2, exited: true, status: 'exit status 2', error: 'exit status 2' } } },
    ])
    expect(asJson.end).toEqual({})
    const binary = framesOf(await raw.start([frame(0, toBinary('StartRequest', request))], 'application/connect+proto'))
    expect([binary.messages.length, binary.messages[1]?.toString('hex'), binary.end]).toEqual([
      3,
      '0a0612040a02780a',
      {},
    ])
    const stat = await raw.envd({
      path: '/filesystem.Filesystem/Stat',
      headers: { 'content-type': 'application/proto' },
      body: [toBinary('Path', { path: '/etc' })],
    })
    expect([stat.status, stat.headers['content-type'], stat.body.includes('/etc')]).toEqual([
      200,
      'application/proto',
      true,
    ])
  })

  test('reach a process by its tag, in a stream of input', async () => {
    const tagged = { process: { cmd: 'cat', args: [] }, tag: 'the-cat', stdin: true }
    const reading = raw.start([frame(0, Buffer.from(JSON.stringify(tagged)))])
    const processes = async () =>
      json(await raw.envd({ path: '/process.Process/List', headers: { 'content-type': 'application/json' } }))
    await expect.poll(processes).toMatchObject({ processes: [{ tag: 'the-cat' }] })
    const lines = [
      { start: { process: { tag: 'the-cat' } } },
      { keepalive: {} },
      { data: { input: { stdin: 'aGkK' } } },
    ]
    const body = lines.map((line) => frame(0, Buffer.from(JSON.stringify(line))))
    const fed = await raw.envd({
      path: '/process.Process/StreamInput',
      headers: { 'content-type': 'application/connect+json' },
      body,
    })
    expect(framesOf(fed)).toMatchObject({ end: {} })
    const closing = { process: { tag: 'the-cat' } }
    await raw.envd({
      path: '/process.Process/CloseStdin',
      headers: { 'content-type': 'application/json' },
      body: [JSON.stringify(closing)],
    })
    expect(
      framesOf(await reading)
        .messages.map(String)
        .join(),
    ).toContain('aGkK')
  })

  test('watch by asking again and again', async () => {
    const call = async (method: string, body: object) =>
      json(
        await raw.envd({
          path: `/filesystem.Filesystem/${method}`,
          headers: { 'content-type': 'application/json' },
          body: [JSON.stringify(body)],
        }),
      )
    await sandbox.files.makeDir('polled')
    const { watcherId } = (await call('CreateWatcher', { path: 'polled' })) as { watcherId: string }
    await sandbox.files.write('polled/x', 'x')
    // What was told once is not told again.
    const told: unknown[] = []
    const more = async (): Promise<unknown[]> => {
      const { events = [], ...refusal } = (await call('GetWatcherEvents', { watcherId })) as { events?: unknown[] }
      expect(refusal).toEqual({})
      told.push(...events)
      return told
    }
    await expect.poll(more, { timeout: 5000 }).toMatchObject([
      { name: 'x', type: 'EVENT_TYPE_CREATE' },
      { name: 'x', type: 'EVENT_TYPE_WRITE' },
    ])
    expect(await call('RemoveWatcher', { watcherId })).toEqual({})
    expect(await call('GetWatcherEvents', { watcherId })).toMatchObject({ code: 'not_found' })
  })

  test('of a watch that nobody asks for end it when there are too many', { timeout: 60_000 }, async () => {
    await sandbox.commands.run('mkdir flooded && cd flooded && seq 12000 | xargs touch', { timeoutMs: 50_000 })
    const { watcherId } = (await raw.call('filesystem.Filesystem/CreateWatcher', { path: 'flooded' })) as {
      watcherId: string
    }
    await sandbox.commands.run('cd flooded && seq 12000 | xargs touch', { timeoutMs: 50_000 })
    const take = async (): Promise<{ events?: unknown[]; code?: string; message?: string }> =>
      (await raw.call('filesystem.Filesystem/GetWatcherEvents', { watcherId })) as object
    // Each time it is asked it has room again.
    await expect
      .poll(async () => (await take()).message ?? '', { timeout: 50_000, interval: 5000 })
      .toMatch(/watch anew/)
    expect(await take()).toMatchObject({ code: 'not_found' })
  })

  test('that are wrong are refused, and nothing hangs', async () => {
    const wrong: readonly (readonly [readonly Buffer[], string])[] = [
      [[Buffer.from([0, 0, 0])], 'invalid_argument'],
      [[], 'invalid_argument'],
      [[frame(0, Buffer.from('{'))], 'invalid_argument'],
      [[frame(0, Buffer.from('{"process":{}}'))], 'invalid_argument'],
      [[frame(0, Buffer.from('{"process":{"cmd":"x","envs":{"a=b":"c"}}}'))], 'invalid_argument'],
      [[frame(1, Buffer.from('{}'))], 'unimplemented'],
      [[Buffer.from([0, 0x7f, 0xff, 0xff, 0xff])], 'resource_exhausted'],
      [[frame(0, Buffer.alloc(65 * 1024, 0x20))], 'resource_exhausted'],
      [[frame(0, Buffer.from('{"process":{"cmd":"/no/such/program"}}'))], 'invalid_argument'],
    ]
    for (const [body, code] of wrong)
      expect(framesOf(await raw.start(body)).end, code).toMatchObject({ error: { code } })
    expect((await raw.start([], 'text/plain')).status).toBe(400)
    // No method of either service, and a control route of envd.
    for (const path of ['/process.Process/Nothing', '/other.Service/Start', '/init', '/freeze'])
      expect((await raw.envd({ path })).status).toBe(404)
    const slow = await raw.envd({
      path: '/process.Process/Start',
      headers: { 'content-type': 'application/connect+json' },
      body: [Buffer.from([0])],
      open: true,
    })
    expect(framesOf(slow).end).toMatchObject({ error: { code: 'deadline_exceeded' } })
    expect(
      (await raw.control({ method: 'POST', path: '/v2/sandboxes', body: ['{"templateID":'], open: true })).status,
    ).toBe(408)
    expect(
      (await raw.control({ method: 'POST', path: '/v2/sandboxes', body: [Buffer.alloc(2 * 1024 * 1024, 0x20)] }))
        .status,
    ).toBe(413)
    expect((await sandbox.commands.run('echo alive')).stdout).toBe('alive\n')
  })
})

describe('files', () => {
  const write = (body: readonly (string | Buffer)[], headers: Record<string, string>, query = 'path=f') =>
    raw.envd({ path: `/files?${query}`, headers, body })
  const bytes = { 'content-type': 'application/octet-stream' }

  test('that are wrong are refused, and the old ones stay', async () => {
    await sandbox.files.write('f', 'old')
    expect((await write([Buffer.alloc(5 * 1024 * 1024)], bytes)).status).toBe(413)
    expect((await write(['x'], { ...bytes, 'content-encoding': 'gzip' })).status).toBe(400)
    expect((await write(['x'], { ...bytes, 'content-encoding': 'br' })).status).toBe(415)
    expect((await write(['x'], bytes, '')).status).toBe(400)
    expect((await write(['x'], bytes, 'path=f&username=nobody-here')).status).toBe(401)
    expect((await write(['x'], { ...bytes, 'content-length': '9' }, 'path=f')).status).toBe(408)
    expect((await write(['x'], { 'content-type': 'multipart/form-data; boundary=b' })).status).toBe(400)
    const twice = '--b\r\ncontent-disposition: form-data; name="file"; filename="d/one"\r\n\r\n1\r\n'
    expect(
      (await write([`${twice}${twice}--b--`], { 'content-type': 'multipart/form-data; boundary=b' }, '')).status,
    ).toBe(400)
    const good = await write([`${twice}--b--`], { 'content-type': 'multipart/form-data; boundary=b' }, '')
    expect(json(good)).toEqual([{ path: '/home/user/d/one', name: 'one', type: 'file' }])
    expect(await sandbox.files.read('f')).toBe('old')
    const composed = { source_paths: ['f', 'd/one'], destination: 'both' }
    expect((await raw.envd({ path: '/files/compose', body: [JSON.stringify(composed)] })).status).toBe(200)
    expect([await sandbox.files.read('both'), await sandbox.files.exists('f')]).toEqual(['old1', false])
  })
})
