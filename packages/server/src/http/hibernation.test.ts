import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ExecResult, SandboxView } from '@hearth/contract'
import { TestServer, type CallOptions } from './testing/test-server.ts'

let server: TestServer
let path: string
beforeAll(async () => {
  server = await TestServer.start()
  path = `/v1/sandboxes/${(await server.sandbox()).id}`
  await server.call('PUT', `${path}/files?path=/tmp/kept`, { body: 'kept' })
})
afterAll(() => server[Symbol.asyncDispose]())

const asleep = (): Promise<SandboxView> => server.json('POST', `${path}/hibernate`, { json: {} })
const state = async (): Promise<string> => (await server.json<SandboxView>('GET', path)).state

/** Requests that reach into a sandbox; one to a port that nobody listens on fails in it, awake. */
const REQUESTS: readonly [name: string, method: string, path: string, options?: CallOptions][] = [
  ['a command', 'POST', '/exec', { json: { command: 'true' } }],
  ['a file', 'GET', '/files?path=/tmp/kept'],
  ['an upload', 'PUT', '/files?path=/tmp/other', { body: 'other' }],
  ['a watch', 'GET', '/watch?path=/tmp'],
  ['a terminal', 'POST', '/processes', { json: { command: 'cat', pty: { rows: 24, cols: 80 } } }],
  ['a port', 'GET', '/ports/8080/ready?timeoutMs=10'],
  ['its use', 'GET', '/stats'],
]

describe('a hibernated sandbox', () => {
  it('says so, whatever is asked about it', async () => {
    const view = await asleep()
    expect(view).toMatchObject({ state: 'hibernated', hibernation: { memory: false, reason: /cannot capture/ } })
    expect(await asleep()).toEqual(view)
    expect(await server.json('GET', '/v1/sandboxes?state=hibernated')).toMatchObject({ items: [view] })
    const refused = await server.refusal('POST', `${path}/hibernate`, { json: { memory: 'all' } })
    expect(refused).toMatchObject({ status: 400, code: 'invalid_request' })
    expect(await server.refusal('POST', `${path}/pause`)).toMatchObject({ status: 409, code: 'invalid_state' })
    expect(await server.refusal('POST', `${path}/wake`, { json: { memory: 'required' } })).toMatchObject({
      code: 'memory_unsupported',
    })
    expect(await state()).toBe('hibernated')
    expect(await server.json('POST', `${path}/wake`, { json: {} })).toMatchObject({
      state: 'running',
      hibernation: null,
    })
  })

  it.each(REQUESTS)('is woken by %s', async (_name, method, below, options) => {
    await asleep()
    const stream = new AbortController()
    const answer = await server.call(method, `${path}${below}`, { ...options, signal: stream.signal })
    expect(await state()).toBe('running')
    if (below.startsWith('/watch')) stream.abort()
    else await answer.arrayBuffer()
    expect(await (await server.call('GET', `${path}/files?path=/tmp/kept`)).text()).toBe('kept')
  })

  it('tells those who waited for something in it, and serves them again', async () => {
    const command = { command: 'echo begun; sleep 600' }
    const waiting = server.refusal('POST', `${path}/exec`, { json: command })
    const runs = async (): Promise<boolean> => {
      const { items } = await server.json<{ items: { exit: unknown }[] }>('GET', `${path}/processes`)
      return items.some(({ exit }) => exit === null)
    }
    while (!(await runs())) await new Promise((resolve) => setTimeout(resolve, 20))
    await asleep()
    expect(await waiting).toMatchObject({ status: 409, code: 'sandbox_hibernated' })
    const result = await server.json<ExecResult>('POST', `${path}/exec`, { json: { command: 'cat /tmp/kept' } })
    expect(result.stdout).toBe('kept')
    await server.json('DELETE', path, { status: 204 })
    expect(server.problems).toEqual([])
  })
})
