import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { httpServer } from '@hearth/mcp'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, NEWER, overStdioAs, portOf, ways } from './support/mcp-client.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())
const WAYS = ways(() => server)

describe.each(WAYS)('a call that takes long, by %s', (_, connect) => {
  it(
    'is told of while it goes on, and ended with what it runs when the client takes it back',
    { timeout: 60_000 },
    async () => {
      await using connected = await connect()
      const { client } = connected
      const sandbox = String(
        (await call(client, 'create_sandbox', { at_least: 'process', minutes: 5 })).structured['id'],
      )
      const told: number[] = []
      const slow = { name: 'exec', arguments: { sandbox, command: 'sleep 7; echo over' } }
      // A client that waits for less than the call takes, but longer for one that goes on.
      const options = {
        timeout: 6000,
        resetTimeoutOnProgress: true,
        onprogress: ({ progress }: { progress: number }) => void told.push(progress),
      }
      const { content } = await client.callTool(slow, options)
      expect(JSON.stringify(content)).toContain('over')
      expect(told).toEqual([5])
      const stop = new AbortController()
      const running = client.callTool(
        { name: 'exec', arguments: { sandbox, command: 'sleep 600.125' } },
        { signal: stop.signal },
      )
      running.catch(() => {})
      await using native = await server.client().get(sandbox)
      const sleeping = async (): Promise<number> =>
        (await native.processes()).filter(({ command, exit }) => exit === null && command.join(' ').includes('600.125'))
          .length
      await expect.poll(sleeping, { timeout: 10_000 }).toBe(1)
      stop.abort()
      await expect(running).rejects.toThrow(/abort/i)
      await expect.poll(sleeping, { timeout: 10_000 }).toBe(0)
      // Looking is taken back without ending what is looked at, and what came meanwhile is still to be seen.
      const { structured } = await call(client, 'exec', {
        sandbox,
        command: 'sleep 1; echo late; sleep 600',
        wait_ms: 0,
      })
      const { process } = structured
      const hasty = client.callTool(
        { name: 'process_output', arguments: { sandbox, process, wait_ms: 2500 } },
        { timeout: 1800 },
      )
      await expect(hasty).rejects.toThrow(/tim/i)
      const look = async (): Promise<string> =>
        (await call(client, 'process_output', { sandbox, process, wait_ms: 500 })).text
      await expect.poll(look, { timeout: 10_000 }).toContain('late')
    },
  )
})

describe.each(WAYS)('what is made by a call that is taken back, by %s', (_, connect) => {
  it('is removed', { timeout: 60_000 }, async () => {
    await using connected = await connect()
    const { client } = connected
    const hearth = server.client()
    await using parent = await hearth.create({ rung: 'process', template: 'host' })
    const sandboxes = async (): Promise<string[]> => (await hearth.page()).items.map(({ id }) => id).toSorted()
    const snapshots = async (): Promise<number> => (await hearth.snapshots.list()).length
    const before = { sandboxes: await sandboxes(), snapshots: await snapshots() }
    const made = { at_least: 'process', template: 'host', minutes: 5 }
    const calls = [
      ['create_sandbox', made],
      ['fork', { sandbox: parent.id, count: 2 }],
      ['snapshot', { sandbox: parent.id }],
    ] as const
    for (const [name, input] of calls) {
      // Before it has begun, while it is under way, and when it may have ended already.
      for (const milliseconds of [0, 3, 8, 20]) {
        const call = client.callTool({ name, arguments: input }, { signal: AbortSignal.timeout(milliseconds) })
        const answer = await call.catch(() => null)
        const told = (answer?.structuredContent ?? {}) as Record<string, unknown>
        for (const id of [told['id'], ...((told['sandboxes'] as string[] | undefined) ?? [])]) {
          if (typeof id === 'string') await (await hearth.get(id)).kill()
        }
        if (typeof told['snapshot'] === 'string') await hearth.snapshots.remove(told['snapshot'])
      }
    }
    const now = async () => ({ sandboxes: await sandboxes(), snapshots: await snapshots() })
    await expect.poll(now, { timeout: 20_000, interval: 200 }).toEqual(before)
    // And stays so: nothing was still being made.
    await sleep(1000)
    expect(await now()).toEqual(before)
  })
})

describe('clients of the older revision over HTTP', () => {
  it('take back no call of another', { timeout: 30_000 }, async () => {
    const http = httpServer({ url: server.url, version: '1' }).listen(0, '127.0.0.1')
    await once(http, 'listening')
    const send = async (message: object, headers: Record<string, string>): Promise<Response> =>
      await fetch(`http://127.0.0.1:${portOf(http)}/`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${server.key}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const identified = async (): Promise<Record<string, string>> => {
      const { headers } = await send({ id: 0, method: 'initialize', params }, {})
      return { 'mcp-session-id': headers.get('mcp-session-id') ?? '' }
    }
    const [one, other] = [await identified(), await identified()]
    await using sandbox = await server.client().create({ rung: 'process', template: 'host' })
    const exec = { name: 'exec', arguments: { sandbox: sandbox.id, command: 'sleep 600' } }
    const running = send({ id: 7, method: 'tools/call', params: exec }, one)
    const sleeping = async (): Promise<number> =>
      (await sandbox.processes()).filter(
        ({ exit, command }) => exit === null && command.join(' ').includes('sleep 600'),
      ).length
    await expect.poll(sleeping, { timeout: 10_000 }).toBe(1)
    const takeBack = { method: 'notifications/cancelled', params: { requestId: 7 } }
    for (const headers of [other, {}, { 'mcp-session-id': 'made-up' }]) {
      expect((await send(takeBack, headers)).status).toBe(202)
    }
    await sleep(300)
    expect(await sleeping()).toBe(1)
    await send(takeBack, one)
    await expect.poll(sleeping, { timeout: 10_000 }).toBe(0)
    await (await running).text()
    http.closeAllConnections()
    http.close()
  })
})

describe('an editor that goes', () => {
  it('leaves no sandbox, not even one that is being made', { timeout: 30_000 }, async () => {
    const hearth = server.client()
    const before = (await hearth.page()).items.length
    for (const milliseconds of [0, 10, 40]) {
      const client = await overStdioAs(server, NEWER, '--rung', 'process', '--template', 'host')
      client.callTool({ name: 'exec', arguments: { command: 'sleep 60' } }).catch(() => {})
      await sleep(milliseconds)
      await client.close()
    }
    await expect.poll(async () => (await hearth.page()).items.length, { timeout: 20_000 }).toBe(before)
  })
})
