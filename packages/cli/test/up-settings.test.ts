import { once } from 'node:events'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { PostgresCluster, whyNoPostgres } from '@hearth/testing/store'
import { HearthCommand, said } from './hearth-command.ts'

const noPostgres = await whyNoPostgres()

let hearth: HearthCommand
let ends: (() => Promise<unknown>)[]
beforeEach(async () => {
  hearth = await HearthCommand.create()
  ends = []
})
afterEach(async () => {
  for (const end of ends.reverse()) await end()
  await hearth[Symbol.asyncDispose]()
})

interface Up {
  readonly url: string
  readonly log: () => string
  call(method: string, path: string, body?: object, key?: string): Promise<Response>
  /** Status and code of an answer. */
  refusal(...call: Parameters<Up['call']>): Promise<string>
}

/** `hearth up --config` with these settings, on a free port, until the test ends. */
async function up(settings: object, ...options: string[]): Promise<Up> {
  const path = join(hearth.home, 'hearth.json')
  await writeFile(
    path,
    `// Settings of a test.\n${JSON.stringify({ listen: { port: 0 }, prepare: false, spareKeepers: 0, ...settings })}`,
  )
  const { child, finished } = hearth.start(['up', '--config', path, ...options])
  let log = ''
  child.stdout?.on('data', (data: Buffer) => (log += data.toString()))
  await said(child, 'server.listening')
  ends.push(async () => {
    child.kill('SIGTERM')
    await finished
  })
  const url = /"url":"([^"]+)"/.exec(log)?.[1] ?? ''
  const own = (await readFile(join(hearth.home, 'key'), 'utf8')).trim()
  const call: Up['call'] = (method, path, body, key = own) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    return fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  }
  const refusal: Up['refusal'] = async (...what) => {
    const answer = await call(...what)
    const { error } = (await answer.json()) as { error?: { code: string } }
    return `${answer.status} ${error?.code ?? ''}`
  }
  return { url, log: () => log, call, refusal }
}

const simulated = { rung: 'simulated' }

/** What comes back for these bytes until the server ends the connection. */
async function raw(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (data) => (text += data.toString('latin1'))).on('error', () => {})
  socket.write(bytes)
  await once(socket, 'close')
  return text
}

describe('hearth up --config', () => {
  it('bounds what clients cost: sizes, and those that are slow', async () => {
    const http = { headerBytes: 4096, jsonBytes: 200, headersMs: 300, jsonBodyMs: 300, uploadBytes: 100 }
    const server = await up({ http })
    expect(await server.refusal('POST', '/v1/sandboxes', { ...simulated, metadata: { a: 'x'.repeat(300) } })).toBe(
      '413 body_too_large',
    )
    const { id } = (await (await server.call('POST', '/v1/sandboxes', simulated)).json()) as { id: string }
    expect((await server.call('PUT', `/v1/sandboxes/${id}/files?path=/tmp/a`, { a: 'x'.repeat(300) })).status).toBe(413)
    expect(await raw(server.url, `GET /health HTTP/1.1\r\nhost: x\r\nlarge: ${'x'.repeat(5000)}\r\n\r\n`)).toMatch(
      / 431 /,
    )
    expect(await raw(server.url, 'GET /health HTTP/1.1\r\nhost: x\r\n')).toMatch(/ 408 /)
  })

  it('bounds how often and how many', async () => {
    const server = await up({
      http: { requestsPerSecond: 1, requestBurst: 3, wrongKeysPerSecond: 1, wrongKeyBurst: 1, connections: 3 },
    })
    const statuses: number[] = []
    for (let count = 0; count < 5; count++) statuses.push((await server.call('GET', '/v1/quotas')).status)
    expect(statuses).toContain(200)
    expect(statuses.at(-1)).toBe(429)
    const wrong: number[] = []
    for (let count = 0; count < 3; count++)
      wrong.push((await server.call('GET', '/v1/quotas', undefined, 'hearth_wrong')).status)
    expect(wrong).toEqual([401, 429, 429])
    const { port } = new URL(server.url)
    const sockets = Array.from({ length: 6 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
    await sleep(300)
    expect(sockets.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length).toBeGreaterThanOrEqual(
      3,
    )
    for (const socket of sockets) socket.destroy()
  })

  it('gives new tenants their quotas, and keeps the host from starving', async () => {
    const server = await up({ quotas: { sandboxes: 2, snapshots: 7 }, admission: { sandboxes: 3 } })
    expect(await (await server.call('GET', '/v1/quotas')).json()).toMatchObject({
      limits: { sandboxes: 2, snapshots: 7 },
    })
    for (let count = 0; count < 2; count++)
      expect((await server.call('POST', '/v1/sandboxes', simulated)).status).toBe(201)
    expect(await server.refusal('POST', '/v1/sandboxes', simulated)).toBe('429 quota_exceeded')
    const tenant = (await (await server.call('POST', '/v1/tenants', { name: 'second' })).json()) as { id: string }
    const made = await server.call('POST', `/v1/tenants/${tenant.id}/keys`, { name: 'first' })
    const { key } = (await made.json()) as { key: string }
    expect((await server.call('POST', '/v1/sandboxes', simulated, key)).status).toBe(201)
    expect(await server.refusal('POST', '/v1/sandboxes', simulated, key)).toBe('503 host_full')
  })

  it('keeps what it is told to keep, and for how long', async () => {
    const events = { maximumPerSandbox: 3, maximumAgeMs: 86_400_000 }
    const server = await up({ housekeeping: { roundMs: 100, endedMs: 200, purgeMs: 100, events } })
    const { id } = (await (await server.call('POST', '/v1/sandboxes', simulated)).json()) as { id: string }
    for (let count = 0; count < 6; count++) await server.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'true' })
    const kept = async (): Promise<number> => {
      const page = await (await server.call('GET', `/v1/events?sandbox=${id}`)).json()
      return (page as { items: unknown[] }).items.length
    }
    await expect.poll(kept, { timeout: 10_000 }).toBeLessThanOrEqual(3)
    await server.call('POST', `/v1/sandboxes/${id}/stop`)
    await expect
      .poll(async () => (await server.call('GET', `/v1/sandboxes/${id}`)).status, { timeout: 10_000 })
      .toBe(404)
  })

  it('names links, speaks dialects, holds a pool and says as much as it is told', async () => {
    hearth.env['HEARTH_POOL'] = ''
    const server = await up({
      publicUrl: 'https://hearth.example.com',
      previewDomain: 'preview.example.com',
      dialects: { e2b: { port: 0 }, pandastack: false },
      pool: { memoryBytes: 123_456_789 },
      log: { level: 'info' },
    })
    expect(await (await server.call('GET', '/v1/pool')).json()).toMatchObject({ memoryBytes: 123_456_789 })
    expect(/"dialects":\{"e2b":"[^"]+"\}/.test(server.log())).toBe(true)
    const { id } = (await (await server.call('POST', '/v1/sandboxes', simulated)).json()) as { id: string }
    const link = await server.call('POST', `/v1/sandboxes/${id}/ports/8000/link`, {})
    expect(await link.json()).toMatchObject({
      url: expect.stringMatching(/^https:\/\/8000-.*\.preview\.example\.com\//) as unknown,
    })
  })

  it('opens its database and its key where they are, and tells a collector', async () => {
    await mkdir(join(hearth.home, 'secrets'))
    await writeFile(join(hearth.home, 'secrets/key'), `${'cd'.repeat(32)}\n`)
    const collected: string[] = []
    const collector = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => collected.push(text))
      request.on('end', () => response.end('{}'))
    })
    collector.listen(0, '127.0.0.1')
    await once(collector, 'listening')
    ends.push(async () => void collector.close())
    const { port } = collector.address() as AddressInfo
    const server = await up({
      database: { url: 'sqlite:elsewhere.db' },
      secretKeyFile: 'secrets/key',
      telemetry: { url: `http://127.0.0.1:${port}/v1/logs`, service: 'tested', delayMs: 10 },
    })
    const files = await readdir(hearth.home)
    expect(files).toContain('elsewhere.db')
    expect(files).not.toContain('hearth.db')
    expect(files).not.toContain('secret-key')
    await server.call('POST', '/v1/sandboxes', simulated)
    await expect.poll(() => collected.join(''), { timeout: 10_000 }).toContain('tested')
  })

  it.skipIf(noPostgres !== null)('keeps its state in Postgres', async () => {
    const cluster = await PostgresCluster.start()
    ends.push(() => cluster[Symbol.asyncDispose]())
    const url = new URL(cluster.newDatabase().admin)
    await writeFile(join(hearth.home, 'password'), 'of nobody: this cluster trusts\n')
    const server = await up({ database: { url: url.href, passwordFile: 'password' } })
    expect((await server.call('GET', '/v1/quotas')).status).toBe(200)
    expect((await readdir(hearth.home)).filter((name) => name.endsWith('.db'))).toEqual([])
  })

  it('gives way to options, and prints what holds', async () => {
    hearth.env['HEARTH_POOL'] = ''
    const path = join(hearth.home, 'hearth.json')
    const settings = {
      listen: { host: '127.0.0.1', port: 1 },
      database: { url: 'postgres://hearth:hidden@db.example.com/hearth' },
      dialects: { e2b: { port: 2, webhooks: { timeoutMs: 7 } } },
      pool: { perShape: 3 },
      http: { jsonBytes: 4 },
    }
    await writeFile(path, JSON.stringify(settings))
    const shown = await hearth.json<Record<string, object>>(['up', '--config', path, '--print-config'])
    expect(shown).toMatchObject({ ...settings, database: { url: 'postgres://hearth@db.example.com/hearth' } })
    expect(JSON.stringify(shown)).not.toContain('hidden')
    const options = [
      '--port',
      '3',
      '--pool',
      '1M',
      '--dialect',
      'e2b=5',
      '--dialect-allow',
      'npm',
      '--database',
      'sqlite:/x',
    ]
    expect(await hearth.json(['up', '--config', path, '--print-config', ...options])).toMatchObject({
      listen: { host: '127.0.0.1', port: 3 },
      database: { url: 'sqlite:/x' },
      dialects: { e2b: { port: 5, webhooks: { timeoutMs: 7 } }, pandastack: false, policy: { presets: ['npm'] } },
      pool: { perShape: 3, memoryBytes: 1_048_576 },
    })
    expect(await readdir(hearth.home)).toEqual(['hearth.json'])
  })

  it('refuses what it does not know before anything starts', async () => {
    const path = join(hearth.home, 'hearth.json')
    await writeFile(path, '{"http": {"jsonBytes": "1M"}, "colour": 1}')
    const { code, stderr } = await hearth.run(['up', '--config', path])
    expect(code).toBe(1)
    expect(stderr).toContain('http.jsonBytes: must be a number of bytes, and is text')
    expect(stderr).toContain('colour: there is no such setting')
    expect(stderr).toContain('--print-config')
    expect(await readdir(hearth.home)).toEqual(['hearth.json'])
  })
})
