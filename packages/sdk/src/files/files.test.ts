import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { RemoteSandbox } from '../index.ts'
import * as script from '../testing/scripted-server.fixture.ts'
import { ID } from '../testing/scripted-server.fixture.ts'

const BASE = `/sandboxes/${ID}/files`
const FILE = {
  path: '/a',
  name: 'a',
  type: 'file',
  size: 3,
  mode: 0o644,
  uid: 0,
  gid: 0,
  modifiedAt: '2026-01-02T03:04:05.678Z',
  target: null,
}

let server: script.ScriptedServer
let sandbox: RemoteSandbox
beforeEach(async () => {
  server = await script.ScriptedServer.listen()
  server.on(`GET /sandboxes/${ID}`, script.json(script.view()))
  sandbox = await server.client().get(ID)
})
afterEach(async () => await server[Symbol.asyncDispose]())

async function* pieces(...list: (string | Error)[]): AsyncGenerator<Uint8Array> {
  for (const piece of list) {
    if (piece instanceof Error) throw piece
    await new Promise((resolve) => setTimeout(resolve, 1))
    yield Buffer.from(piece)
  }
}

describe('reading', () => {
  const ranged: script.Reply = (request, response) => {
    const content = Buffer.from('0123456789')
    const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '')
    if (range === null) return void response.writeHead(200).end(content)
    const from = Number(range[1])
    if (from >= content.length) return script.failure(416, 'range_unsatisfiable', 'no')(request, response)
    const part = content.subarray(from, range[2] === '' ? content.length : Number(range[2]) + 1)
    response.writeHead(206, { 'content-range': `bytes ${from}-${from + part.length - 1}/10` }).end(part)
  }

  test('the whole and parts', async () => {
    server.on(`GET ${BASE}`, ranged)
    const { files } = sandbox
    expect(await files.readText('/ü &?#%')).toBe('0123456789')
    expect(await files.readText('/a', { offset: 3 })).toBe('3456789')
    expect(await files.readText('/a', { offset: 3, length: 4 })).toBe('3456')
    expect(await files.readText('/a', { length: 0 })).toBe('')
    expect(await files.readText('/a', { offset: 100 })).toBe('')
    expect(await files.readText('/a', { offset: 8, length: Number.MAX_SAFE_INTEGER })).toBe('89')
    expect(server.asked(`GET ${BASE}`)[0]?.query.get('path')).toBe('/ü &?#%')
  })

  test('a file that comes whole although a part was asked for', async () => {
    server.on(`GET ${BASE}`, (_, response) => {
      response.writeHead(200).write('0123')
      response.end('456789')
    })
    const { files } = sandbox
    expect(await files.readText('/a', { offset: 3 })).toBe('3456789')
    expect(await files.readText('/a', { offset: 3, length: 2 })).toBe('34')
    expect(await files.readText('/a', { length: 4 })).toBe('0123')
    expect(await files.readText('/a', { offset: 100, length: 4 })).toBe('')
  })

  test('a stream that breaks off is an error, not a shorter file', async () => {
    server.on(`GET ${BASE}`, (_, response) => {
      response.writeHead(200).write('half')
      setTimeout(() => response.destroy(), 10)
    })
    await expect(sandbox.files.read('/a')).rejects.toMatchObject({ code: 'link_lost' })
  })

  test('a reader that stops closes the request', async () => {
    let closed = false
    server.on(`GET ${BASE}`, (_, response) => {
      response.writeHead(200).write('begin')
      response.once('close', () => (closed = true))
    })
    for await (const chunk of sandbox.files.readStream('/a')) {
      expect(Buffer.from(chunk).toString()).toBe('begin')
      break
    }
    await expect.poll(() => closed).toBe(true)
  })

  test('giving up in the middle', async () => {
    server.on(`GET ${BASE}`, (_, response) => void response.writeHead(200).write('begin'))
    await expect(sandbox.files.read('/a', { signal: AbortSignal.timeout(40) })).rejects.toMatchObject({
      code: 'aborted',
    })
  })

  test('paths and numbers that are none never leave', async () => {
    const before = server.requests.length
    for (const path of ['relative', '', '/a\0b', `/${'ü'.repeat(2100)}`, 5, null, undefined] as string[]) {
      await expect(sandbox.files.read(path)).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(sandbox.files.write(path, 'x')).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(sandbox.files.remove(path)).rejects.toMatchObject({ code: 'invalid_request' })
    }
    await expect(sandbox.files.read('/a', { offset: -1 })).rejects.toMatchObject({ code: 'invalid_request' })
    expect(server.requests).toHaveLength(before)
  })
})

describe('writing', () => {
  test('text, bytes and streams', async () => {
    server.on(`PUT ${BASE}`, script.json(FILE))
    const info = await sandbox.files.write('/a', 'ü', { mode: 0o600, exclusive: true, parents: false, user: 'root' })
    expect(info).toEqual({ ...FILE, modifiedAt: new Date(FILE.modifiedAt) })
    await sandbox.files.write('/a', Uint8Array.of(0, 255))
    await sandbox.files.write('/a', pieces('one,', '', 'two'))
    const [text, bytes, stream] = server.asked(`PUT ${BASE}`)
    expect(Object.fromEntries(text?.query ?? [])).toEqual({
      path: '/a',
      mode: '600',
      exclusive: 'true',
      parents: 'false',
      user: 'root',
    })
    expect(text?.body.toString()).toBe('ü')
    expect([...(bytes?.body ?? [])]).toEqual([0, 255])
    expect(stream?.body.toString()).toBe('one,two')
  })

  test('the failure of the source is what the caller hears', async () => {
    server.on(`PUT ${BASE}`, script.json(FILE))
    await expect(sandbox.files.write('/a', pieces('x', new Error('the source broke')))).rejects.toThrow(
      'the source broke',
    )
    expect(server.asked(`PUT ${BASE}`)).toEqual([])
    await expect(sandbox.files.write('/a', 5 as unknown as string)).rejects.toMatchObject({ code: 'invalid_request' })
    const strings = (async function* () {
      yield 'text'
    })()
    const wrong = sandbox.files.write('/a', strings as unknown as AsyncIterable<Uint8Array>)
    await expect(wrong).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('an upload that is given up ends its source', async () => {
    let ended = false
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          await new Promise((resolve) => setTimeout(resolve, 5))
          yield Buffer.alloc(1000)
        }
      } finally {
        ended = true
      }
    }
    server.on(`PUT ${BASE}`, script.json(FILE))
    const upload = sandbox.files.write('/a', endless(), { signal: AbortSignal.timeout(50) })
    await expect(upload).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(() => ended).toBe(true)
  })

  test('archives', async () => {
    server.on(`PUT ${BASE}/archive`, script.json({}))
    server.on(`GET ${BASE}/archive`, (_, response) => void response.writeHead(200).end('tar'))
    await sandbox.files.extract('/into', sandbox.files.archive('/from'), { user: 'root' })
    const [request] = server.asked(`PUT ${BASE}/archive`)
    expect(request?.body.toString()).toBe('tar')
    expect(Object.fromEntries(request?.query ?? [])).toEqual({ path: '/into', user: 'root' })
  })
})

test('the other calls', async () => {
  const { files } = sandbox
  server.on(`GET ${BASE}/stat`, script.json(FILE)).on(`GET ${BASE}/list`, script.json({ items: [FILE], next: null }))
  for (const name of ['directory', 'rename', 'symlink', 'mode']) server.on(`POST ${BASE}/${name}`, script.json({}))
  server.on(`DELETE ${BASE}`, (_, response) => void response.writeHead(204).end())
  expect(await files.stat('/a', { followSymlinks: false })).toMatchObject({ mode: 0o644 })
  expect(await files.list('/a', { depth: 2 })).toHaveLength(1)
  await files.makeDirectory('/d', { parents: true })
  await files.rename('/a', '/b')
  await files.symlink('target', '/link')
  await files.chmod('/a', 0o755)
  await files.remove('/a', { recursive: true })
  expect(await files.exists('/a')).toBe(true)
  server.on(`GET ${BASE}/stat`, script.failure(404, 'file_not_found', 'no'))
  expect(await files.exists('/a')).toBe(false)
  const bodies = server.requests
    .filter(({ method }) => method === 'POST')
    .map(({ body }) => JSON.parse(body.toString()) as unknown)
  expect(bodies).toEqual([
    { path: '/d', parents: true },
    { path: '/a', to: '/b' },
    { path: '/link', target: 'target' },
    { path: '/a', mode: 0o755 },
  ])
  expect(server.asked(`GET ${BASE}/stat`)[0]?.query.get('follow')).toBe('false')
})
