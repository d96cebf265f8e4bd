import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Hearth } from '@hearth/engine'
import { serve, type ServeOptions, type Server } from './serve.ts'

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'hearth-serve-'))
})
afterAll(async () => {
  const hearth = new Hearth({ home, spareKeepers: 0 })
  for (const { id } of await hearth.survey()) await hearth.discard(id)
  await hearth.dispose()
  await rm(home, { recursive: true, force: true })
})

const start = (options: ServeOptions = {}): Promise<Server> =>
  serve({ ...options, home, port: 0, logger: pino({ level: 'silent' }), engine: { spareKeepers: 0 }, prepare: false })

describe('serve', () => {
  it('makes a key once, keeps it for the command line, and finds its sandboxes again', async () => {
    const first = await start()
    const key = first.firstKey?.token ?? ''
    expect(await readFile(join(home, 'key'), 'utf8')).toBe(`${key}\n`)
    for (const name of ['key', 'link-secret']) expect((await stat(join(home, name))).mode & 0o777, name).toBe(0o600)
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const made = await fetch(`${first.url}/v1/sandboxes`, { method: 'POST', headers, body: '{"rung":"process"}' })
    const { id } = (await made.json()) as { id: string }
    const begun = await fetch(`${first.url}/v1/sandboxes/${id}/processes`, {
      method: 'POST',
      headers,
      body: '{"command":"sleep 1; echo survived"}',
    })
    const { id: process } = (await begun.json()) as { id: number }
    const secret = await readFile(join(home, 'link-secret'))
    await first.stop()

    await using second = await start()
    expect(second.firstKey).toBeNull()
    expect(await readFile(join(home, 'link-secret'))).toEqual(secret)
    const output = await fetch(`${second.url}/v1/sandboxes/${id}/processes/${process}/output`, { headers })
    expect(await output.text()).toContain(Buffer.from('survived\n').toString('base64'))
    await fetch(`${second.url}/v1/sandboxes/${id}`, { method: 'DELETE', headers })
  })

  it('locks nobody out of it: without a key of an operator that works, or when it is asked, it makes another', async () => {
    const call = async (server: Server, key: string, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
      const answer = await fetch(`${server.url}/v1${path}`, init)
      return { status: answer.status, body: answer.status === 204 ? {} : ((await answer.json()) as Answered) }
    }
    type Answered = { id?: string; key?: string; items?: { id: string; revokedAt: string | null }[]; error?: object }
    const first = await start()
    const kept = (await readFile(join(home, 'key'), 'utf8')).trim()
    const { items = [] } = (await call(first, kept, 'GET', '/keys')).body
    const last = items.find(({ revokedAt }) => revokedAt === null)?.id ?? ''
    expect(await call(first, kept, 'DELETE', `/keys/${last}`)).toMatchObject({
      status: 409,
      body: { error: { code: 'invalid_state' } },
    })
    const scopes = ['admin', 'operator']
    await call(first, kept, 'POST', '/keys', { name: 'brief', scopes, expiresInMs: 3000 })
    expect((await call(first, kept, 'DELETE', `/keys/${last}`)).status).toBe(204)
    await first.stop()
    await new Promise((resolve) => setTimeout(resolve, 3000))

    const second = await start()
    expect(second.firstKey).toMatchObject({ reason: 'none_works' })
    const made = (await readFile(join(home, 'key'), 'utf8')).trim()
    expect(made).toBe(second.firstKey?.token)
    expect((await call(second, made, 'GET', '/tenants')).status).toBe(200)
    await second.stop()

    await using third = await start({ newKey: true })
    expect(third.firstKey).toMatchObject({ reason: 'asked' })
    for (const key of [made, third.firstKey?.token ?? '']) {
      expect((await call(third, key, 'GET', '/tenants')).status).toBe(200)
    }
  })

  it('is not ready while the engine cannot be opened, and is once it can', async () => {
    const own = await mkdtemp(join(tmpdir(), 'hearth-serve-'))
    await writeFile(join(own, 'store'), 'no directory')
    await using server = await serve({ home: own, port: 0, logLevel: 'silent', prepare: false })
    const ready = async () => await fetch(`${server.url}/ready`)
    const refused = await ready()
    expect(refused.status).toBe(503)
    const text = await refused.text()
    expect(text).toContain('engine_unavailable')
    expect(text).not.toContain(own)
    await rm(join(own, 'store'))
    expect((await ready()).status).toBe(200)
    await server.stop()
    await rm(own, { recursive: true, force: true })
  })

  it('does not share its home', async () => {
    await using first = await start()
    await expect(start()).rejects.toMatchObject({ name: 'HearthError' })
    expect((await fetch(`${first.url}/health`)).status).toBe(200)
  })
})
