import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { describe, expect, it } from 'vitest'
import { WebSocket } from 'ws'
import { runService } from '../runs/run-service.ts'
import { openStore } from '../state/index.ts'
import { createServer } from './server.ts'
import { readEvents } from './testing/events.ts'
import { TestServer } from './testing/test-server.ts'

describe('a server that stops', () => {
  it('lets calls end, ends streams with a reason, and leaves processes running', async () => {
    await using server = await TestServer.start()
    const { url } = server
    const { id } = await server.sandbox()
    const base = `/v1/sandboxes/${id}`
    const call = server.json('POST', `${base}/exec`, { json: { command: 'sleep 0.5; echo done' } })
    const stream = readEvents(
      await server.call('POST', `${base}/exec/stream`, { json: { command: 'echo up; sleep 100' } }),
    )
    await stream.next()
    await stream.next()
    const { id: process } = await server.json<{ id: number }>('POST', `${base}/processes`, {
      json: { command: 'sleep 101' },
      status: 201,
    })
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}${base}/processes/${process}/attach`, {
      headers: { authorization: `Bearer ${server.key}` },
    })
    await once(socket, 'message')
    const closed = once(socket, 'close')
    const stopping = server.server.stop({ graceMs: 5000 })
    expect((await stream.next()).value).toMatchObject({
      type: 'error',
      error: { code: 'shutting_down', retryable: true },
    })
    expect((await closed)[0]).toBe(1012)
    expect(await call).toMatchObject({ stdout: 'done\n' })
    await stopping
    await expect(fetch(`${url}/health`)).rejects.toThrow('fetch failed')
    using use = await server.plane.use(await caller(server), id)
    const running = (await use.sandbox.processes())
      .filter(({ exit }) => exit === null)
      .map(({ command }) => command.at(-1))
    expect(new Set(running)).toEqual(new Set(['echo up; sleep 100', 'sleep 101']))
  })

  it('does not wait for ever', async () => {
    await using server = await TestServer.start()
    const { id } = await server.sandbox()
    const call = server.refusal('POST', `/v1/sandboxes/${id}/exec`, { json: { command: 'sleep 100' } })
    call.catch(() => {})
    await expect
      .poll(async () => (await server.json<{ items: unknown[] }>('GET', `/v1/sandboxes/${id}/processes`)).items.length)
      .toBe(1)
    const began = performance.now()
    await server.server.stop({ graceMs: 300 })
    expect(performance.now() - began).toBeLessThan(3000)
    await call.catch(() => {})
  })

  it('leaves commands and code running whose callers it lets go', async () => {
    await using server = await TestServer.start()
    const { id } = await server.sandbox()
    const base = `/v1/sandboxes/${id}`
    const command = server.call('POST', `${base}/exec`, { json: { command: 'sleep 2; echo late > /tmp/command' } })
    const code = "import time\ntime.sleep(2)\nopen('/tmp/code', 'w').write('late')"
    const cell = server.refusal('POST', `${base}/code`, { json: { code, language: 'python' } })
    const listed = async () => (await server.json<{ items: { id: number }[] }>('GET', `${base}/processes`)).items
    await expect.poll(async () => (await listed()).length).toBe(2)
    // The interpreter is there before it has been given the code.
    await new Promise((resolve) => setTimeout(resolve, 700))
    await server.server.stop({ graceMs: 100 })
    const { error } = (await (await command).json()) as { error: { code: string; context: { process: number } } }
    expect(error).toMatchObject({ code: 'shutting_down', context: { process: expect.any(Number) } })
    expect(await cell).toMatchObject({ code: 'shutting_down', message: expect.stringContaining('goes on') })
    using use = await server.plane.use(await caller(server), id)
    const { sandbox } = use
    const process = await sandbox.attach(error.context.process)
    expect(await process.wait()).toMatchObject({ exitCode: 0, signal: null })
    expect(await sandbox.files.readText('/tmp/command')).toBe('late\n')
    await expect.poll(async () => await sandbox.files.exists('/tmp/code'), { timeout: 5000 }).toBe(true)
  })

  it('does not wait for a WebSocket that does not close', async () => {
    await using server = await TestServer.start()
    const { id } = await server.sandbox({ rung: 'simulated' })
    const { id: process } = await server.json<{ id: number }>('POST', `/v1/sandboxes/${id}/processes`, {
      json: { command: 'sleep 100' },
      status: 201,
    })
    const path = `/v1/sandboxes/${id}/processes/${process}/attach`
    const key = 'sec-websocket-version: 13\r\nsec-websocket-key: MDEyMzQ1Njc4OWFiY2RlZg=='
    const socket = connect(server.server.address.port, '127.0.0.1')
    socket.write(
      `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.key}\r\nconnection: upgrade\r\nupgrade: websocket\r\n${key}\r\n\r\n`,
    )
    expect(String((await once(socket, 'data'))[0])).toContain('101 Switching Protocols')
    const began = performance.now()
    await server.server.stop({ graceMs: 300 })
    expect(performance.now() - began).toBeLessThan(2000)
    socket.destroy()
  })

  it('refuses to listen elsewhere than on loopback without a key', async () => {
    await using server = await TestServer.start()
    const directory = await mkdtemp(join(tmpdir(), 'hearth-http-'))
    await using store = await openStore({ url: `sqlite:${join(directory, 'empty.db')}` })
    const { apiKeys: keys, events, tenants, secrets } = store
    const open = createServer({
      controlPlane: server.plane,
      keys,
      events,
      tenants,
      secrets,
      runs: runService(store),
      logger: pino({ level: 'silent' }),
      linkSecret: new Uint8Array(32),
      listen: { host: '0.0.0.0' },
    })
    await expect(open.start()).rejects.toThrow('listening on 0.0.0.0 needs a key')
    await rm(directory, { recursive: true })
  })
})

async function caller(server: TestServer) {
  const { tenantId, id: keyId } = await server.store.apiKeys.verify(server.key)
  return { tenantId, keyId, scopes: new Set(['admin'] as const), holder: null, requestId: 'test' }
}
