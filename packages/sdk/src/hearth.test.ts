import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RemoteSandbox, WatchEvent } from './index.ts'
import * as script from './testing/scripted-server.fixture.ts'
import { ID } from './testing/scripted-server.fixture.ts'

const BASE = `/sandboxes/${ID}`

let server: script.ScriptedServer
let sandbox: RemoteSandbox
beforeEach(async () => {
  server = await script.ScriptedServer.listen()
  server.on(`GET ${BASE}`, script.json(script.view()))
  sandbox = await server.client().get(ID)
})
afterEach(async () => await server[Symbol.asyncDispose]())

describe('sandboxes', () => {
  test('what is told of one', async () => {
    expect(sandbox.info).toMatchObject({ id: ID, state: 'running', rung: 'process', parent: null })
    expect(sandbox.info.createdAt).toBeInstanceOf(Date)
    server.on(`GET ${BASE}`, script.json(script.view({ state: 'paused', expiresAt: null })))
    const info = await sandbox.refresh()
    expect(info.state).toBe('running')
    expect(info.expiresAt.getTime()).toBeGreaterThan(Date.now() + 1e12)
    expect(sandbox.details).toMatchObject({ state: 'paused', expiresAt: null })
    server.on(`GET ${BASE}`, script.json(script.view({ state: 'failed', reason: 'x' })))
    expect((await sandbox.refresh()).state).toBe('ended')
  })

  test('a deadline is meant by the clock of the server', async () => {
    const hour = 3_600_000
    const answer = (serverTime: number, expiresAt: number): script.Reply =>
      script.json(script.view({ expiresAt: new Date(expiresAt).toISOString() }), 200, {
        date: new Date(serverTime).toUTCString(),
      })
    const now = Date.now()
    server.on(`GET ${BASE}`, answer(now - hour, now - hour + 60_000))
    expect((await sandbox.refresh()).state).toBe('running')
    server.on(`GET ${BASE}`, answer(now + hour, now + hour - 1000))
    expect((await sandbox.refresh()).state).toBe('ended')
    const later = Date.now()
    server.on(`GET ${BASE}`, answer(later, later + 3000))
    expect((await sandbox.refresh()).state).toBe('running')
    await expect.poll(() => sandbox.info.state, { timeout: 15_000 }).toBe('ended')
  })

  test('pause, resume, renew and stop', async () => {
    for (const action of ['pause', 'resume', 'renew'])
      server.on(`POST ${BASE}/${action}`, script.json(script.view({ state: action })))
    await sandbox.pause()
    await sandbox.resume()
    await sandbox.renew(60_000)
    expect(sandbox.details.state).toBe('renew')
    expect(server.asked(`POST ${BASE}/renew`)[0]?.body.toString()).toBe('{"ttlMs":60000}')
    server.on(`POST ${BASE}/stop`, script.json(script.view({ state: 'stopped' })))
    expect((await sandbox.stop()).state).toBe('ended')
  })

  test('kill once, and everything after it says that it has ended', async () => {
    server.on(`DELETE ${BASE}`, script.hangUp, (_, response) => void response.writeHead(204).end())
    {
      await using mine = sandbox
      await Promise.all([mine.kill(), mine.kill()])
    }
    const before = server.requests.length
    await expect(sandbox.exec('true')).rejects.toMatchObject({ code: 'sandbox_ended' })
    await expect(sandbox.files.read('/a')).rejects.toMatchObject({ code: 'sandbox_ended' })
    await expect(sandbox.renew(5000)).rejects.toMatchObject({ code: 'sandbox_ended' })
    await sandbox.kill()
    expect(server.requests).toHaveLength(before)
    expect(sandbox.info.state).toBe('ended')
  })

  test('one that is not found any more has ended', async () => {
    server.on(`GET ${BASE}/stats`, script.failure(404, 'sandbox_not_found', 'no'))
    await expect(sandbox.stats()).rejects.toMatchObject({ code: 'sandbox_ended', requestId: 'req_1' })
    expect(sandbox.info.state).toBe('ended')
  })

  test('exec gives text and bytes', async () => {
    const bytes = Buffer.from([0xff, 0, 0xfe])
    server.on(
      `POST ${BASE}/exec`,
      script.json({
        ...script.EXIT,
        stdout: '\uFFFD',
        stdoutBase64: bytes.toString('base64'),
        stderr: 'ü',
        output: 'x',
        truncated: false,
        totalOutputBytes: 5,
      }),
    )
    const result = await sandbox.exec(['x'], { input: 'in', timeoutMs: 5, maxOutputBytes: 9 })
    expect(Buffer.from(result.stdoutBytes)).toEqual(bytes)
    expect(Buffer.from(result.stderrBytes).toString()).toBe('ü')
    expect(result).not.toHaveProperty('stdoutBase64')
    expect(JSON.parse(server.asked(`POST ${BASE}/exec`)[0]?.body.toString() ?? '')).toEqual({
      command: ['x'],
      input: Buffer.from('in').toString('base64'),
      timeoutMs: 5,
      maxOutputBytes: 9,
    })
    await expect(sandbox.exec('x', { input: 5 as unknown as string })).rejects.toMatchObject({
      code: 'invalid_request',
    })
  })

  test('an error of code is a result', async () => {
    const error = { name: 'NameError', message: 'x', traceback: '' }
    server.on(`POST ${BASE}/code`, script.json({ stdout: '', stderr: '', text: null, displays: [], error }))
    expect((await sandbox.runCode('x', { context: 'c' })).error).toEqual(error)
  })

  test('pages are got as they are needed', async () => {
    server.on(
      'GET /sandboxes',
      script.json({ items: [script.view(), script.view()], next: 'more' }),
      script.json({ items: [script.view({ metadata: { last: 'yes' } })], next: null }),
    )
    const filters = { state: 'running', rung: 'process', metadata: { team: 'a&b' }, limit: 2 } as const
    const found = []
    for await (const details of server.client().list(filters)) {
      found.push(details)
      if (found.length === 2) expect(server.asked('GET /sandboxes')).toHaveLength(1)
    }
    expect(found).toHaveLength(3)
    expect(found[2]?.createdAt).toBeInstanceOf(Date)
    const queries = server.asked('GET /sandboxes').map((request) => Object.fromEntries(request.query))
    const common = { state: 'running', rung: 'process', 'metadata.team': 'a&b', limit: '2' }
    expect(queries).toEqual([common, { ...common, cursor: 'more' }])
  })
})

describe('streams', () => {
  const change = (path: string): object => ({ type: 'change', kind: 'created', path, from: null })

  test('a watch that broke says that changes may be missing', async () => {
    server.on(
      `GET ${BASE}/watch`,
      script.events({ type: 'watching' }, change('/d/a')),
      script.hangUp,
      script.openEvents({ type: 'watching' }, change('/d/b')),
    )
    await using watch = await sandbox.watch('/d', { recursive: true })
    const events: WatchEvent[] = []
    for await (const event of watch) {
      events.push(event)
      if (event.path === '/d/b') break
    }
    expect(events).toEqual([
      { kind: 'created', path: '/d/a', from: null },
      { kind: 'overflow', path: '/d', from: null },
      { kind: 'created', path: '/d/b', from: null },
    ])
    expect(Object.fromEntries(server.asked(`GET ${BASE}/watch`)[0]?.query ?? [])).toEqual({
      path: '/d',
      recursive: 'true',
    })
  })

  test('a watch that ends: refused, disposed of, given up', async () => {
    server.on(`GET ${BASE}/watch`, script.failure(404, 'file_not_found', 'no'))
    await expect(sandbox.watch('/d')).rejects.toMatchObject({ code: 'file_not_found' })
    server.on(`GET ${BASE}/watch`, script.openEvents({ type: 'watching' }))
    const watch = await sandbox.watch('/d')
    const pending = watch[Symbol.asyncIterator]().next()
    await watch[Symbol.asyncDispose]()
    expect((await pending).done).toBe(true)
    const controller = new AbortController()
    const aborted = await sandbox.watch('/d', { signal: controller.signal })
    const waiting = aborted[Symbol.asyncIterator]().next()
    controller.abort()
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    await expect(sandbox.watch('/d', { signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' })
  })

  test('events are followed over breaks, each once', async () => {
    const event = (seq: number): object => ({
      seq,
      at: new Date().toISOString(),
      sandbox: ID,
      type: 'created',
      data: {},
    })
    server.on('GET /events', script.events(event(4), event(5)), script.hangUp, script.openEvents(event(5), event(6)))
    const seen: number[] = []
    for await (const { seq, at } of server.client().events({ sandbox: ID, after: 3 })) {
      expect(at).toBeInstanceOf(Date)
      seen.push(seq)
      if (seq === 6) break
    }
    expect(seen).toEqual([4, 5, 6])
    expect(server.asked('GET /events').map((request) => request.query.get('after'))).toEqual(['3', '5', '5'])
    server.on('GET /events', script.json({ items: [event(1)], next: 1, dropped: null }))
    expect(await server.client().eventPage({ after: 0 })).toMatchObject({ next: 1, items: [{ seq: 1 }] })
    const dropped = { type: 'dropped', through: 9, count: 2 }
    server.on('GET /events', script.events({ type: 'following', after: 8 }), script.openEvents(dropped, event(9)))
    const late = []
    for await (const { type, seq, data } of server.client().events()) {
      late.push([type, seq, data['count']])
      if (type === 'created') break
    }
    expect(late).toEqual([
      ['dropped', 9, 2],
      ['created', 9, undefined],
    ])
    expect(server.asked('GET /events').at(-1)?.query.get('after')).toBe('8')
    server.on('GET /events', script.openEvents())
    const nothing = server.client().events({ signal: AbortSignal.timeout(40) })
    await expect(nothing.next()).rejects.toMatchObject({ code: 'aborted' })
  })
})

test('keys', async () => {
  const key = {
    id: 'key_1',
    name: 'n',
    scopes: ['exec'],
    createdAt: new Date().toISOString(),
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
  }
  server
    .on('POST /keys', script.json({ ...key, key: 'hearth_new' }, 201))
    .on(
      'GET /keys',
      script.json({ items: [key], next: 'more' }),
      script.json({ items: [{ ...key, id: 'key_0' }], next: null }),
    )
  server.on('DELETE /keys/key_1', (_, response) => void response.writeHead(204).end())
  const { keys } = server.client()
  expect(await keys.create({ name: 'n', scopes: ['exec'] })).toMatchObject({
    id: 'key_1',
    key: 'hearth_new',
    expiresAt: null,
  })
  const listed = await keys.list()
  expect(listed[0]?.createdAt).toBeInstanceOf(Date)
  expect(listed.map(({ id }) => id)).toEqual(['key_1', 'key_0'])
  await keys.revoke('key_1')
  expect(server.asked('DELETE /keys/key_1')).toHaveLength(1)
})
