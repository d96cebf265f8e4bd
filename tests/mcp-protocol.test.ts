import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { httpServer } from '@hearth/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, HEARTH_PROGRAM, overStdioAs, type Negotiation } from './support/mcp-client.ts'

const REVISION = '2026-07-28'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

describe.each([
  ['legacy' as Negotiation, 'legacy'],
  ['auto' as Negotiation, REVISION],
  [{ pin: REVISION } as Negotiation, REVISION],
])('a client that negotiates %j', (mode, expected) => {
  const spoken = (client: Client): string => {
    const version = client.getNegotiatedProtocolVersion()
    return version === REVISION ? REVISION : 'legacy'
  }

  it('is served on standard input', async () => {
    const client = await overStdioAs(server, mode, '--rung', 'process')
    expect(spoken(client)).toBe(expected)
    expect(client.getServerVersion()).toMatchObject({ name: 'hearth' })
    expect((await client.listTools()).tools).toHaveLength(14)
    const done = await call(client, 'exec', { command: 'echo served; exit 2' })
    expect(done).toMatchObject({ structured: { exitCode: 2 }, failed: true })
    await client.close()
  })

  it('is served over HTTP', async () => {
    await using http = await overHttp()
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
    await client.connect(new StreamableHTTPClientTransport(http.url, { requestInit: { headers: authorized() } }))
    expect(spoken(client)).toBe(expected)
    expect((await client.listTools()).tools).toHaveLength(17)
    expect(await call(client, 'exec', { command: 'true' })).toMatchObject({ failed: true })
    await client.close()
  })
})

function authorized(): Record<string, string> {
  return { authorization: `Bearer ${server.key}` }
}

async function overHttp(): Promise<AsyncDisposable & { readonly url: URL }> {
  const http = httpServer({ url: server.url, version: '1', requestMs: 1000 }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: new URL(`http://127.0.0.1:${(http.address() as { port: number }).port}/`),
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections()
      http.close()
    },
  }
}

describe('what is not the protocol', () => {
  const headers = () => ({
    ...authorized(),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  })
  const wrong: readonly string[] = [
    '',
    '{',
    'null',
    '[]',
    '"x"',
    '{}',
    '{"jsonrpc":"1.0","id":1,"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":{},"method":"tools/list"}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    '{"jsonrpc":"2.0","id":1,"method":"no/such"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_such_tool"}}',
    `[${'{"jsonrpc":"2.0","id":1,"method":"tools/list"},'.repeat(200)}{}]`,
    '['.repeat(100_000),
    '\u0000\u0001',
  ]

  it('is refused over HTTP, and nothing of the server is told', async () => {
    await using http = await overHttp()
    for (const body of wrong) {
      const answer = await fetch(http.url, { method: 'POST', headers: headers(), body })
      const text = await answer.text()
      expect(answer.status, `${body.slice(0, 80)}: ${text}`).toBeLessThan(500)
      expect(answer.ok && !text.includes('error') ? text : '', body.slice(0, 80)).toBe('')
      expect(text).not.toMatch(/node:internal|\.ts:\d+|hearth_key/)
    }
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      expect((await fetch(http.url, { method, headers: headers() })).status, method).toBeLessThan(500)
    }
    const large = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { x: 'x'.repeat(5_000_000) } })
    expect((await fetch(http.url, { method: 'POST', headers: headers(), body: large })).status).toBe(413)
    for (const forged of [{ host: 'evil.example' }, { origin: 'null' }, { authorization: 'Bearer' }]) {
      const status = await statusOf(http.url, { ...headers(), ...forged }, '{}')
      expect([401, 403], JSON.stringify(forged)).toContain(status)
    }
  })

  it('does not wait for a body that never comes', { timeout: 20_000 }, async () => {
    await using http = await overHttp()
    expect(await statusOf(http.url, { ...headers(), 'content-length': '100' }, '{')).toBe(408)
  })

  it('on standard input does not keep it from what follows', async () => {
    const env = { ...process.env, ...server.environment }
    const child = spawn(process.execPath, [HEARTH_PROGRAM, 'mcp'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
    for (const line of wrong.filter((each) => !each.includes('[['))) child.stdin.write(`${line}\n`)
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 'last', method: 'initialize', params })}\n`)
    for (;;) {
      const { value, done } = await lines.next()
      expect(done).not.toBe(true)
      const message = JSON.parse(String(value)) as { id?: unknown; result?: { serverInfo: object } }
      if (message.id !== 'last') continue
      expect(message.result?.serverInfo).toMatchObject({ name: 'hearth' })
      break
    }
    child.stdin.end()
    expect(await once(child, 'exit')).toEqual([0, null])
  })
})

/** Of a request whose headers and body are exactly these. */
async function statusOf(url: URL, headers: Record<string, string>, body: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode ?? 0)
      sent.destroy()
    })
    sent.once('error', reject)
    sent.flushHeaders()
    sent.write(body)
    if (headers['content-length'] === undefined) sent.end()
  })
}
