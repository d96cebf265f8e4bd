import { spawnSync } from 'node:child_process'
import { createServer, request, type Server } from 'node:http'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rung } from '@hearth/contract'
import { httpServer, makeServer, Session } from '@hearth/mcp'
import { Hearth } from '@hearth/sdk'
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, HEARTH_PROGRAM, overStdioAs, type Negotiation } from './support/mcp-client.ts'

const PINNED = { pin: '2026-07-28' } as const
let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

interface Connected extends AsyncDisposable {
  readonly client: Client
}

async function overHttp(mode: Negotiation): Promise<Connected> {
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

async function overStdio(mode: Negotiation): Promise<Connected> {
  const client = await overStdioAs(server, mode, '--multi')
  return { client, [Symbol.asyncDispose]: () => client.close() }
}

function portOf(http: Server): number {
  return (http.address() as { port: number }).port
}

const WAYS = [
  ['standard input, older', () => overStdio('legacy')],
  ['standard input, newer', () => overStdio(PINNED)],
  ['HTTP, older', () => overHttp('legacy')],
  ['HTTP, newer', () => overHttp(PINNED)],
] as const

describe.each(['process', 'gvisor'] satisfies Rung[])('every tool on %s', (rung) => {
  it.each(WAYS)('by %s', { timeout: 60_000 }, async (_, connect) => {
    await using connected = await connect()
    const { client } = connected
    const { tools } = await client.listTools()
    const called = new Set<string>()
    const tool = async (name: string, input: Record<string, unknown> = {}) => {
      called.add(name)
      const answer = await call(client, name, input)
      // What has a shape is there for programs, too, and the client has checked it against the shape.
      const shaped = tools.find((each) => each.name === name)?.outputSchema !== undefined
      expect(shaped, name).toBe(Object.keys(answer.structured).length > 0)
      return answer
    }
    const made = await tool('create_sandbox', { at_least: rung, template: 'host', minutes: 5 })
    await call(client, 'destroy_sandbox', { sandbox: made.structured['id'] })
    // A tool asks for a rung or a stronger one; this one is exact.
    const sandbox = (await server.client().create({ rung, template: 'host' })).id
    expect((await tool('list_sandboxes')).text).toContain(sandbox)
    expect((await tool('exec', { sandbox, command: 'echo $((40 + 2))' })).text).toContain('42')
    const { structured } = await tool('exec', { sandbox, command: 'echo begun; sleep 600', wait_ms: 500 })
    const { process } = structured
    expect((await tool('process_output', { sandbox, process, wait_ms: 0 })).structured).toMatchObject({ running: true })
    await tool('process_kill', { sandbox, process })
    await tool('write', { sandbox, path: '/tmp/d/a.txt', content: 'one\n' })
    await tool('edit', { sandbox, path: '/tmp/d/a.txt', old_string: 'one', new_string: 'two' })
    expect((await tool('read', { sandbox, path: '/tmp/d/a.txt' })).text).toContain('two')
    expect((await tool('list', { sandbox, path: '/tmp/d' })).text).toContain('a.txt')
    expect((await tool('grep', { sandbox, pattern: 'tw', path: '/tmp/d' })).text).toContain('a.txt:1:two')
    expect((await tool('glob', { sandbox, pattern: '*.txt', path: '/tmp/d' })).text).toContain('/tmp/d/a.txt')
    const [copy] = (await tool('fork', { sandbox })).structured['sandboxes'] as string[]
    await tool('write', { sandbox: copy, path: '/root/new', content: 'x' })
    expect((await tool('diff', { sandbox: copy })).text).toContain('/root/new')
    expect((await tool('snapshot', { sandbox })).structured['snapshot']).toMatch(/^sn_/)
    expect((await tool('port_url', { sandbox, port: 80 })).structured['url']).toContain('80-')
    await tool('exec', {
      sandbox,
      command:
        'git init -q /tmp/r && cd /tmp/r && git -c user.name=a -c user.email=a@b commit -qm x --allow-empty && echo n > n',
    })
    expect((await tool('submit', { sandbox, path: '/tmp/r' })).structured).toMatchObject({ files: ['n'] })
    for (const id of [copy, sandbox]) await tool('destroy_sandbox', { sandbox: id })
    expect(called).toEqual(new Set(tools.map(({ name }) => name)))
    const kinds = tools.map(
      ({ annotations }) => `${annotations?.readOnlyHint} ${annotations?.destructiveHint} ${annotations?.openWorldHint}`,
    )
    expect(kinds.filter((kind) => kind.includes('undefined undefined'))).toEqual([])
  })
})

describe.each(WAYS)('a call that takes long, by %s', (way, connect) => {
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
      // The older revision takes a call back in a request of its own, which a server without sessions cannot tie to it: there it goes on.
      if (way === 'HTTP, older') return
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

describe('a sandbox that takes long to be made', () => {
  it('is waited for no longer than clients wait, and there for the next call', async () => {
    await using slow = await slowServer(1000)
    const hearth = new Hearth({ url: slow.url, apiKey: server.key })
    const before = (await hearth.page()).items.length
    await using session = new Session({ hearth, multi: false, patienceMs: 200, spec: { rung: 'process' } })
    const [here, there] = InMemoryTransport.createLinkedPair()
    await makeServer(session, '1').connect(there)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(here)
    expect(await call(client, 'exec', { command: 'true' })).toMatchObject({
      failed: true,
      text: expect.stringMatching(/still being made.*same call again/s) as string,
    })
    await expect
      .poll(async () => (await call(client, 'exec', { command: 'echo over-there' })).text, { timeout: 10_000 })
      .toContain('over-there')
    expect((await hearth.page()).items.length - before).toBe(1)
    await client.close()
  })
})

/** The server, which takes its time for creates. */
async function slowServer(milliseconds: number): Promise<AsyncDisposable & { readonly url: string }> {
  const proxy = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming
    const pass = (): void => {
      const onward = request(server.url + path, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(outgoing)
      })
      onward.once('error', () => outgoing.destroy())
      incoming.pipe(onward)
    }
    setTimeout(pass, method === 'POST' && path === '/v1/sandboxes' ? milliseconds : 0)
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  const end = async (): Promise<void> => {
    proxy.closeAllConnections()
    proxy.close()
  }
  return { url: `http://127.0.0.1:${portOf(proxy)}`, [Symbol.asyncDispose]: end }
}

describe('hearth mcp install', () => {
  const home = mkdtempSync(join(tmpdir(), 'hearth-install-'))
  const project = join(home, 'project')
  mkdirSync(project)
  afterAll(() => rmSync(home, { recursive: true }))

  const install = (client: string, ...args: string[]) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      HEARTH_HOME: join(home, 'state'),
      HEARTH_URL: server.url,
    }
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [HEARTH_PROGRAM, 'mcp', 'install', client, ...args],
      {
        cwd: project,
        env,
        encoding: 'utf8',
      },
    )
    return { status, stdout, stderr }
  }
  const places = [
    ['claude-code', '.mcp.json'],
    ['cursor', '.cursor/mcp.json'],
    ['vscode', '.vscode/mcp.json'],
    ['codex', '../.codex/config.toml'],
  ] as const

  it.each(places)(
    '%s: shows what it wrote, the same the second time, and what it wrote works',
    async (client, place) => {
      const path = join(project, place)
      const shown = install(client, '--print')
      expect([shown.status, existsSync(path)]).toEqual([0, false])
      const first = install(client)
      const content = readFileSync(path, 'utf8')
      expect(first).toMatchObject({ status: 0, stdout: expect.stringContaining(content) as string })
      expect(shown.stdout).toContain(content)
      expect(install(client).status).toBe(0)
      expect(readFileSync(path, 'utf8')).toBe(content)
      // The same home and server that this command would find, and no key.
      expect(content).toContain(join(home, 'state'))
      expect(content).not.toContain('hearth_key')
      const [, program] = /"([^"]*hearth\.js)"/.exec(content) ?? []
      expect(program).toBe(HEARTH_PROGRAM)
    },
  )

  it.each(places)('%s: a file that is in the way, or cannot be read, is left as it is', (client, place) => {
    const path = join(project, place)
    for (const wrong of ['{ // a comment\n}', 'a = "', '{"mcpServers": 7, "servers": 7} = x', '\0']) {
      writeFileSync(path, wrong)
      const { status, stderr } = install(client)
      expect(status, wrong).not.toBe(0)
      expect(stderr, wrong).not.toMatch(/bug in Hearth|\.ts:\d+/)
      // What to add is in the message.
      if (/by hand/.test(stderr)) expect(stderr).toContain('hearth.js')
      expect(readFileSync(path, 'utf8')).toBe(wrong)
    }
    rmSync(path)
    mkdirSync(path)
    expect(install(client)).toMatchObject({ status: 1, stderr: expect.not.stringContaining('bug in Hearth') as string })
    rmSync(path, { recursive: true })
    symlinkSync('/nowhere/at/all', path)
    const dangling = install(client)
    expect(dangling.stderr).not.toContain('bug in Hearth')
    rmSync(path)
    if (client === 'claude-code') return
    const directory = join(path, '..')
    rmSync(directory, { recursive: true })
    symlinkSync('/nowhere/at/all', directory)
    expect(install(client)).toMatchObject({ status: 1, stderr: expect.stringMatching(/cannot be written/) as string })
    rmSync(directory)
  })
})
