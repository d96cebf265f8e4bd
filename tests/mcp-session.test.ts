import { setTimeout as sleep } from 'node:timers/promises'
import { makeServer, Session, type SessionOptions } from '@hearth/mcp'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call } from './support/mcp-client.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

interface Open extends AsyncDisposable {
  readonly client: Client
}

async function open(options: Partial<SessionOptions>): Promise<Open> {
  const session = new Session({ hearth: server.client(), multi: false, ...options })
  const [here, there] = InMemoryTransport.createLinkedPair()
  await makeServer(session, '1').connect(there)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(here)
  const end = async (): Promise<void> => {
    await client.close()
    await session[Symbol.asyncDispose]()
  }
  return { client, [Symbol.asyncDispose]: end }
}

const ids = async (): Promise<string[]> => (await server.client().page()).items.map(({ id }) => id).toSorted()

describe('the sandbox of a session', () => {
  it('and copies of it live as long as the session, and not much longer', { timeout: 60_000 }, async () => {
    const before = await ids()
    const opened = await open({ spec: { rung: 'process', ttlMs: 3000 } })
    const { client } = opened
    await call(client, 'write', { path: '/tmp/kept', content: 'x' })
    const [copy] = (await call(client, 'fork', {})).structured['sandboxes'] as string[]
    await sleep(6000)
    expect((await call(client, 'read', { path: '/tmp/kept' })).text).toContain('x')
    expect((await call(client, 'read', { path: '/tmp/kept', sandbox: copy })).text).toContain('x')
    await opened[Symbol.asyncDispose]()
    await expect.poll(ids, { timeout: 10_000 }).toEqual(before)
  })

  it('is made anew when it has ended, and the call that finds it gone says so', { timeout: 30_000 }, async () => {
    await using opened = await open({ spec: { rung: 'process' } })
    const { client } = opened
    const others = new Set(await ids())
    const own = async (): Promise<string[]> => (await ids()).filter((id) => !others.has(id))
    await call(client, 'write', { path: '/tmp/kept', content: 'x' })
    const [first = ''] = await own()
    const [copy] = (await call(client, 'fork', {})).structured['sandboxes'] as string[]
    await (await server.client().get(first)).kill()
    // However many calls find it gone, one other is made.
    const found = await Promise.all(
      ['a', 'b', 'c'].map((name) => call(client, 'write', { path: `/tmp/${name}`, content: name })),
    )
    const [next = ''] = (await own()).filter((id) => id !== copy)
    expect(new Set(await own())).toEqual(new Set([copy, next]))
    for (const { text, failed } of found) {
      expect(failed).toBe(true)
      expect(text).toMatch(
        new RegExp(`sandbox_ended: ${first} has ended.*${next} takes its place\\nMake the call again`),
      )
    }
    expect((await call(client, 'write', { path: '/tmp/a', content: 'a' })).failed).toBe(false)
    expect((await call(client, 'read', { path: '/tmp/kept' })).text).toContain('file_not_found')
    // Who names the old one is told of the new one, too; a copy that has ended stays so.
    const named = await call(client, 'read', { path: '/tmp/a', sandbox: first })
    expect(named.text).toContain(`${next} takes its place`)
    await (await server.client().get(String(copy))).kill()
    const gone = await call(client, 'read', { path: '/tmp/a', sandbox: copy })
    expect(gone).toMatchObject({ failed: true, text: expect.not.stringContaining('takes its place') as string })
    expect(await own()).toEqual([next])
  })

  it('that was given is never made anew', { timeout: 30_000 }, async () => {
    const given = await server.client().create({ rung: 'process' })
    await using opened = await open({ sandbox: given.id })
    expect((await call(opened.client, 'exec', { command: 'true' })).failed).toBe(false)
    await given.kill()
    const before = await ids()
    const { failed, text } = await call(opened.client, 'exec', { command: 'true' })
    expect([failed, text]).toEqual([true, expect.not.stringContaining('takes its place')])
    expect(await ids()).toEqual(before)
  })
})
