import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { ApiProcess } from './api-process.ts'

export const HEARTH_PROGRAM = join(import.meta.dirname, '../../packages/cli/bin/hearth.js')
/** How a client finds out which revision of the protocol to speak. */
export type Negotiation = 'legacy' | 'auto' | { readonly pin: string }

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
