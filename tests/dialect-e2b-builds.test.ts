import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { Sandbox } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { json } from './support/e2b-raw.ts'
import { E2bServer, type Reply } from './support/e2b-server.ts'

const server = await E2bServer.start({ uploadBytes: 1024 * 1024, bodyIdleMs: 1000 })
afterAll(() => server[Symbol.asyncDispose]())

beforeAll(async () => {
  const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' } })
  await sandbox.createSnapshot({ name: 'base-process' })
  await sandbox.kill()
})

async function call(method: string, path: string, body?: object, key = server.key): Promise<Reply> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' }
  return await server.raw({ method, path, headers, body: body === undefined ? [] : [JSON.stringify(body)] })
}

describe('builds', () => {
  const begin = async (body: object): Promise<Reply> => {
    const { templateID, buildID } = json(await call('POST', '/v3/templates', { name: 'hostile' })) as Record<
      string,
      string
    >
    return await call('POST', `/v2/templates/${templateID}/builds/${buildID}`, body)
  }
  const hash = 'ab'.repeat(32)

  test.each([
    [{ steps: [{ type: 'COPY', args: ['x', '/x', '', ''], filesHash: 'cd'.repeat(32) }] }, 400, /were not sent/],
    [{ steps: [{ type: 'COPY', args: ['x', '/x', '', ''] }] }, 400, /were not sent/],
    [{ steps: [{ type: 'COPY', args: ['x', '/x', '', ''], filesHash: '../../key' }] }, 400, /filesHash/],
    [{ steps: [{ type: 'USER', args: ['x; reboot'] }] }, 400, /no name of a user/],
    [{ steps: [{ type: 'ENV', args: ['a b', 'c'] }] }, 400, /ENV/],
    [{ steps: [{ type: 'HEALTHCHECK', args: [] }] }, 501, /HEALTHCHECK/],
    [{ fromImageRegistry: { type: 'registry' } }, 400, /fromImageRegistry.username/],
    [{ fromImageRegistry: { type: 'other' } }, 400, /fromImageRegistry/],
    [{ steps: 'x' }, 400, /steps/],
  ] as const)('%j are refused', async (body, status, message) => {
    expect(json(await begin(body))).toEqual({ code: status, message: expect.stringMatching(message) as string })
  })

  test('are begun once, by their owner alone', async () => {
    const { buildID } = json(await call('POST', '/v3/templates', { name: 'once' })) as { buildID: string }
    const path = `/v2/templates/once/builds/${buildID}`
    const foreign = await server.foreignKey()
    expect((await call('POST', path, {}, foreign)).status).toBe(404)
    expect((await call('GET', `/templates/once/builds/${buildID}/status`, undefined, foreign)).status).toBe(404)
    expect((await call('GET', `/templates/other/builds/${buildID}/status`)).status).toBe(404)
    expect((await call('POST', path, { fromTemplate: 'base-process' })).status).toBe(202)
    expect((await call('POST', path, { fromTemplate: 'base-process' })).status).toBe(409)
    await expect
      .poll(async () => json(await call('GET', `/templates/once/builds/${buildID}/status`)), { timeout: 30_000 })
      .toMatchObject({
        status: 'ready',
      })
    const said = async (query: string): Promise<string[]> => {
      const { logs } = json(await call('GET', `/templates/once/builds/${buildID}/logs?${query}`)) as {
        logs: { message: string }[]
      }
      return logs.map(({ message }) => message)
    }
    const all = await said('')
    expect(all.length).toBeGreaterThan(1)
    expect(await said('direction=backward')).toEqual(all.toReversed())
    expect(await said('limit=1')).toEqual(all.slice(0, 1))
    expect([await said('level=error'), await said(`cursor=${Date.now() + 60_000}`)]).toEqual([[], []])
    expect((await call('GET', `/templates/once/builds/${buildID}/logs`, undefined, foreign)).status).toBe(404)
    expect(json(await call('GET', '/templates', undefined, foreign))).toEqual([])
    expect((await call('GET', '/templates/aliases/once', undefined, foreign)).status).toBe(404)
    expect((await call('POST', '/v3/templates', { name: 'Not a name!' })).status).toBe(400)
    expect((await call('POST', '/v3/templates', { name: 'x', tags: ['a b'] })).status).toBe(400)
  })

  test('take files by links that are for one use, one tenant and an hour', async () => {
    const link = async (key = server.key): Promise<string> => {
      const answer = json(await call('GET', `/templates/x/files/${hash}`, undefined, key)) as { url: string }
      return new URL(answer.url).pathname
    }
    const put = (path: string, body: readonly (string | Buffer)[], open = false) =>
      server.raw({ method: 'PUT', path, body, open })
    const path = await link()
    const [, , , key = '', , issued = '', signature = ''] = path.split('/')
    for (const forged of [
      path.replace(signature, 'A'.repeat(43)),
      path.replace(hash, 'cd'.repeat(32)),
      path.replace(issued, String(Number(issued) + 3_600_000)),
      path.replace(key, 'key_other'),
      '/build-files/x',
      `/build-files/../../etc/${hash}/${issued}/${signature}`,
    ]) {
      expect((await put(forged, ['x'])).status, forged).toBe(401)
    }
    expect((await put(path, [Buffer.alloc(2 * 1024 * 1024)])).status).toBe(413)
    expect((await put(path, ['x'], true)).status).toBe(408)
    expect((await put(path, ['not an archive'])).status).toBe(200)
    expect((await put(path, ['again'])).status).toBe(409)
    // Of another tenant nothing is known, and nothing is overwritten.
    const foreign = await server.foreignKey()
    expect(json(await call('GET', `/templates/x/files/${hash}`, undefined, foreign))).toMatchObject({ present: false })
    expect(json(await call('GET', `/templates/x/files/${hash}`))).toMatchObject({ present: true })
    expect((await call('GET', '/templates/x/files/short')).status).toBe(400)
    // What is no archive fails the build, and nothing is left of it.
    const { buildID } = json(await call('POST', '/v3/templates', { name: 'garbage' })) as { buildID: string }
    const steps = [{ type: 'COPY', args: ['x', '/x', '', ''], filesHash: hash }]
    expect(
      (await call('POST', `/v2/templates/garbage/builds/${buildID}`, { fromTemplate: 'base-process', steps })).status,
    ).toBe(202)
    await expect
      .poll(async () => json(await call('GET', `/templates/garbage/builds/${buildID}/status`)))
      .toMatchObject({ status: 'error', reason: { step: '1' } })
    await expect
      .poll(async () => (await Sandbox.list({ query: { metadata: { 'hearth.build': buildID } } }).nextItems()).length)
      .toBe(0)
    const { key: revoked, id } = await server.makeKey(['sandbox:read', 'sandbox:write'])
    const late = await link(revoked)
    await server.revokeKey(id)
    expect((await put(late, ['x'])).status).toBe(401)
  })

  test('that were under way at a kill -9 have failed, and leave no sandbox', { timeout: 60_000 }, async () => {
    await using process = await ApiProcess.start({ dialects: ['e2b'] })
    const headers = { 'x-api-key': process.key }
    const ask = async (path: string, body?: object): Promise<Record<string, unknown>> => {
      const options = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
      const answer = await fetch(process.dialectUrl('e2b') + path, { headers, ...options })
      return answer.status === 202 && path.startsWith('/v2') ? {} : ((await answer.json()) as Record<string, unknown>)
    }
    const { buildID } = await ask('/v3/templates', { name: 'cut' })
    const steps = [{ type: 'RUN', args: ['sleep 600'] }]
    await ask(`/v2/templates/cut/builds/${String(buildID)}`, { fromTemplate: 'host', steps })
    const status = `/templates/cut/builds/${String(buildID)}/status`
    await expect.poll(async () => JSON.stringify(await ask(status)), { timeout: 20_000 }).toContain('RUN sleep')
    await process.kill('SIGKILL')
    {
      // As if a minute had passed.
      using database = new DatabaseSync(join(process.home, 'hearth.db'))
      database.exec('update template_builds set updated_at = 0')
    }
    await process.start()
    await expect
      .poll(() => ask(status))
      .toMatchObject({ status: 'error', reason: { message: expect.stringContaining('the server ended') as string } })
    await expect.poll(async () => (await process.client().page()).items.length, { timeout: 20_000 }).toBe(0)
  })
})
