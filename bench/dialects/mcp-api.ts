import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import type { DialectApi } from './api.ts'
import { send } from './http-calls.ts'

const PROGRAM = join(import.meta.dirname, '../../packages/cli/bin/hearth.js')
const REVISION = '2026-07-28'
const META = {
  'io.modelcontextprotocol/protocolVersion': REVISION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

interface ToolResult {
  readonly isError?: boolean
  readonly content: readonly { readonly text: string }[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
}

/** Tools over HTTP, of `hearth mcp` in a process of its own. Files are for models there, and small: there is none of any size. */
export class McpApi implements DialectApi, AsyncDisposable {
  readonly name = 'MCP'
  readonly command = ['bash', '-c', 'true']
  readonly files = null
  readonly #child: ChildProcess
  readonly #url: string
  readonly #key: string

  private constructor(child: ChildProcess, url: string, key: string) {
    this.#child = child
    this.#url = url
    this.#key = key
  }

  static async start(server: ApiProcess): Promise<McpApi> {
    const env = { ...process.env, ...server.environment }
    const child = spawn(process.execPath, [PROGRAM, 'mcp', '--http', '0', '--rung', 'process', '--template', 'host'], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    for await (const line of createInterface(child.stderr)) {
      const [, url] = /^MCP at (\S+)/.exec(line) ?? []
      if (url !== undefined) return new McpApi(child, url, server.key)
    }
    throw new Error('hearth mcp ended before it listened')
  }

  async create(): Promise<string> {
    const { structuredContent } = await this.#tool('create_sandbox', { minutes: 5 })
    return String(structuredContent?.['id'])
  }

  async remove(id: string): Promise<void> {
    await this.#tool('destroy_sandbox', { sandbox: id })
  }

  async exec(id: string): Promise<void> {
    await this.#tool('exec', { sandbox: id, command: 'true' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM')
    await once(this.#child, 'exit')
  }

  async #tool(name: string, input: object): Promise<ToolResult> {
    const params = { name, arguments: input, _meta: META }
    const headers = {
      authorization: `Bearer ${this.#key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'mcp-protocol-version': REVISION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    const answer = await send({ method: 'POST', url: this.#url, headers, body })
    const { result } = JSON.parse(answer.toString()) as { readonly result?: ToolResult }
    if (result === undefined || result.isError === true) throw new Error(`${name}: ${answer.toString('utf8', 0, 300)}`)
    return result
  }
}
