import { once } from 'node:events'
import { httpServer } from '@hearth/mcp'
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as PandaStack } from '@pandastack/sdk'
import { Sandbox as E2b } from 'e2b'
import type { Rung } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** One way to the sandboxes of a server; identifiers are the native ones. */
interface Way {
  readonly name: string
  create(rung: Rung): Promise<string>
  list(): Promise<string[]>
  run(id: string, command: string): Promise<string>
  fork(id: string): Promise<string>
  kill(id: string): Promise<void>
}

const server = await ApiProcess.start({ dialects: ['e2b', 'pandastack'] })
const http = httpServer({ url: server.url, version: '1' }).listen(0, '127.0.0.1')
await once(http, 'listening')
const mcp = new McpClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } })

beforeAll(async () => {
  const url = new URL(`http://127.0.0.1:${(http.address() as { port: number }).port}/`)
  const headers = { authorization: `Bearer ${server.key}` }
  await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
})
afterAll(async () => {
  await mcp.close()
  http.closeAllConnections()
  http.close()
  await server[Symbol.asyncDispose]()
})

function nativeWay(): Way {
  const hearth = server.client()
  return {
    name: 'the native client',
    create: async (rung) => (await hearth.create({ rung, template: 'host' })).id,
    list: async () => (await hearth.page()).items.map(({ id }) => id),
    run: async (id, command) => (await (await hearth.get(id)).exec(command)).stdout,
    fork: async (id) => (await (await hearth.get(id)).fork(1)).children[0]?.id ?? '',
    kill: async (id) => await (await hearth.get(id)).kill(),
  }
}

function e2bWay(): Way {
  const url = server.dialectUrl('e2b')
  const options = { apiKey: server.key, apiUrl: url, sandboxUrl: url }
  const given = (id: string): string => id.replace('_', '')
  const ours = (id: string): string => id.replace(/^sb/, 'sb_')
  return {
    name: "E2B's",
    create: async (rung) =>
      ours((await E2b.create('host', { ...options, metadata: { 'hearth.rung': rung } })).sandboxId),
    list: async () => (await E2b.list(options).nextItems()).map(({ sandboxId }) => ours(sandboxId)),
    run: async (id, command) => (await (await E2b.connect(given(id), options)).commands.run(command)).stdout,
    fork: async (id) => {
      const [child] = await (await E2b.connect(given(id), options)).fork({ timeoutMs: 120_000 })
      if (child === undefined || child instanceof Error) throw child ?? new Error('no child')
      return ours(child.sandboxId)
    },
    kill: async (id) => expect(await E2b.kill(given(id), options)).toBe(true),
  }
}

function pandastackWay(): Way {
  const { sandboxes } = new PandaStack({ apiUrl: server.dialectUrl('pandastack'), apiKey: server.key })
  return {
    name: "PandaStack's",
    create: async (rung) =>
      (await sandboxes.create({ template: 'host', ttlSeconds: 300, metadata: { 'hearth.rung': rung } })).id,
    list: async () => (await sandboxes.list()).map(({ id }) => id),
    run: async (id, command) => (await (await sandboxes.get(id)).exec(command)).stdout,
    fork: async (id) => (await (await sandboxes.get(id)).fork()).id,
    kill: async (id) => await (await sandboxes.get(id)).kill(),
  }
}

function mcpWay(): Way {
  const call = async (name: string, input: Record<string, unknown>) => {
    const { content, structuredContent, isError } = await mcp.callTool({ name, arguments: input })
    const text = content[0]?.type === 'text' ? content[0].text : ''
    if (isError === true) throw new Error(text)
    return { text, structured: structuredContent as Record<string, unknown> }
  }
  return {
    name: 'MCP',
    create: async (rung) => {
      const { structured } = await call('create_sandbox', { at_least: rung, template: 'host' })
      return String(structured['id'])
    },
    list: async () => {
      const { structured } = await call('list_sandboxes', {})
      return (structured['sandboxes'] as { id: string }[]).map(({ id }) => id)
    },
    run: async (sandbox, command) => (await call('exec', { sandbox, command })).text,
    fork: async (sandbox) => ((await call('fork', { sandbox })).structured['sandboxes'] as string[])[0] ?? '',
    kill: async (sandbox) => void (await call('destroy_sandbox', { sandbox })),
  }
}

const WAYS = [nativeWay(), e2bWay(), pandastackWay(), mcpWay()]

describe.each(['process', 'gvisor'] satisfies Rung[])('on %s', (rung) => {
  test.each(WAYS)('what $name makes is there for all others', async (maker) => {
    const id = await maker.create(rung)
    await maker.run(id, 'umask 0; echo from the maker > /tmp/shared')
    for (const way of WAYS) {
      expect(await way.list(), way.name).toContain(id)
      expect(await way.run(id, 'cat /tmp/shared'), way.name).toContain('from the maker')
      const child = await way.fork(id)
      // The copy is everybody's, too, and another than the original.
      const next = WAYS[(WAYS.indexOf(way) + 1) % WAYS.length] ?? way
      await next.run(child, 'echo changed > /tmp/shared')
      expect(await way.run(child, 'cat /tmp/shared'), way.name).toContain('changed')
      expect(await way.run(id, 'cat /tmp/shared'), way.name).toContain('from the maker')
      await next.kill(child)
      expect(await way.list(), way.name).not.toContain(child)
    }
    const killer = WAYS[(WAYS.indexOf(maker) + 2) % WAYS.length] ?? maker
    await killer.kill(id)
    for (const way of WAYS) {
      expect(await way.list(), way.name).not.toContain(id)
      await expect(way.run(id, 'true'), way.name).rejects.toThrow(
        /not[ _]found|no (such )?sandbox|has ended|doesn't exist/i,
      )
    }
  })
})
