import { once } from 'node:events'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { httpServer } from '@hearth/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ApiProcess } from './api-process.ts'

export const HEARTH_PROGRAM = join(import.meta.dirname, '../../packages/cli/bin/hearth.js')
/** How a client finds out which revision of the protocol to speak. */
export type Negotiation = 'legacy' | 'auto' | { readonly pin: string }

export const NEWER = { pin: '2026-07-28' } as const

/** A client of `hearth mcp`, which it has started itself. */
export async function overStdioAs(server: ApiProcess, mode: Negotiation, ...args: string[]): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const env = { ...(process.env as Record<string, string>), ...server.environment }
  const command = { command: process.execPath, args: [HEARTH_PROGRAM, 'mcp', ...args], env }
  await client.connect(new StdioClientTransport(command))
  return client
}

export interface Called {
  readonly text: string
  readonly structured: Record<string, unknown>
  readonly failed: boolean
}

export async function callTool(client: Client, name: string, input: Record<string, unknown> = {}): Promise<Called> {
  const result = await client.callTool({ name, arguments: input })
  const [first] = result.content
  return {
    text: first?.type === 'text' ? first.text : '',
    structured: (result.structuredContent ?? {}) as Record<string, unknown>,
    failed: result.isError === true,
  }
}

export interface Connected extends AsyncDisposable {
  readonly client: Client
}

/** Both transports, with clients of the older and the newer revisions, over several sandboxes. */
export function ways(serverOf: () => ApiProcess): readonly (readonly [string, () => Promise<Connected>])[] {
  return [
    ['standard input, older', () => overStdio(serverOf(), 'legacy')],
    ['standard input, newer', () => overStdio(serverOf(), NEWER)],
    ['HTTP, older', () => overHttp(serverOf(), 'legacy')],
    ['HTTP, newer', () => overHttp(serverOf(), NEWER)],
  ]
}

async function overHttp(server: ApiProcess, mode: Negotiation): Promise<Connected> {
  const http = httpServer({ url: server.url, version: '1' }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const url = new URL(`http://127.0.0.1:${portOf(http)}/`)
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const headers = { authorization: `Bearer ${server.key}` }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  const end = async (): Promise<void> => {
    await client.close()
    http.closeAllConnections()
    http.close()
  }
  return { client, [Symbol.asyncDispose]: end }
}

async function overStdio(server: ApiProcess, mode: Negotiation): Promise<Connected> {
  const client = await overStdioAs(server, mode, '--multi')
  return { client, [Symbol.asyncDispose]: () => client.close() }
}

export function portOf(http: Server): number {
  return (http.address() as { port: number }).port
}
