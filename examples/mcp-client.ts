// What an editor does with `hearth mcp`: tools of the Model Context Protocol, here by its official client over HTTP.
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { httpServer } from '@hearth/mcp'
import { serve } from '@hearth/server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const home = await mkdtemp(join(tmpdir(), 'hearth-example-'))
const server = await serve({ home, port: 0, logLevel: 'silent' })
// `hearth mcp --http 7080` is the same; editors start `hearth mcp` by themselves and talk to its standard input.
const mcp = httpServer({ url: server.url, version: '1' }).listen(0, '127.0.0.1')
await once(mcp, 'listening')

const client = new Client({ name: 'example', version: '1' })
const headers = { authorization: `Bearer ${server.firstKey?.token}` }
const url = new URL(`http://127.0.0.1:${(mcp.address() as AddressInfo).port}/`)

async function tool(
  name: string,
  input: Record<string, unknown>,
): Promise<{ text: string; told: Record<string, unknown> }> {
  const { content, structuredContent } = await client.callTool({ name, arguments: input })
  const [first] = content
  return { text: first?.type === 'text' ? first.text : '', told: structuredContent as Record<string, unknown> }
}

try {
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
  console.log('tools:', (await client.listTools()).tools.map(({ name }) => name).join(' '))
  const sandbox = (await tool('create_sandbox', { minutes: 5 })).told['id']
  await tool('write', { sandbox, path: '/tmp/greet.sh', content: 'echo "hello, $1"\n' })
  console.log((await tool('exec', { sandbox, command: 'sh /tmp/greet.sh world; exit 3' })).text.trim())
  await tool('edit', { sandbox, path: '/tmp/greet.sh', old_string: 'hello', new_string: 'good morning' })
  console.log((await tool('exec', { sandbox, command: 'sh /tmp/greet.sh world' })).text.trim())
  console.log((await tool('destroy_sandbox', { sandbox })).text.replace(String(sandbox), 'the sandbox'))
} finally {
  await client.close()
  mcp.closeAllConnections()
  mcp.close()
  await server.stop({ graceMs: 1000 })
  await rm(home, { recursive: true, force: true })
}
