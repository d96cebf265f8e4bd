import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { CLIENTS, configurationFor, httpServer } from '@hearth/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, overStdioAs } from './support/mcp-client.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

/** A client of a server that it has started, as editors do. */
const overStdio = async (...args: string[]): Promise<Client> => await overStdioAs(server, 'legacy', ...args)

describe.each(['process', 'container'])('one sandbox on %s', (rung) => {
  let client: Client
  beforeAll(async () => {
    client = await overStdio('--rung', rung)
  })
  afterAll(async () => await client.close())

  it('lists its tools, with what they do to the world', async () => {
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names.toSorted()).toEqual([
      'diff',
      'edit',
      'exec',
      'fork',
      'glob',
      'grep',
      'list',
      'port_url',
      'process_kill',
      'process_output',
      'read',
      'snapshot',
      'submit',
      'write',
    ])
    for (const tool of tools) {
      expect(tool.description).toBeTruthy()
      expect(tool.annotations?.readOnlyHint).toBeTypeOf('boolean')
      expect(`mcp__hearth__${tool.name}`.length).toBeLessThan(60)
    }
  })

  it('runs commands, and says how they end', async () => {
    expect(await call(client, 'exec', { command: 'echo hello; exit 3' })).toMatchObject({
      text: expect.stringContaining('hello') as string,
      structured: { exitCode: 3, running: false, output: expect.stringContaining('exit code 3') as unknown },
      failed: true,
    })
    const { structured } = await call(client, 'exec', {
      command: 'mkfifo /tmp/g; echo begun; cat /tmp/g; echo over',
      wait_ms: 300,
    })
    expect(structured).toMatchObject({ running: true })
    await call(client, 'exec', { command: 'echo through > /tmp/g' })
    const rest = await call(client, 'process_output', { process: structured['process'], wait_ms: 20_000 })
    expect(rest.text).toContain('through\nover')
    expect(rest.text).not.toContain('begun')
    expect(rest.structured).toMatchObject({ running: false, exitCode: 0 })
  })

  it('kills what goes on', async () => {
    const { structured } = await call(client, 'exec', { command: 'sleep 600', wait_ms: 100 })
    expect((await call(client, 'process_kill', { process: structured['process'] })).failed).toBe(false)
    const after = await call(client, 'process_output', { process: structured['process'] })
    expect(after.structured).toMatchObject({ running: false })
  })

  it('works with files', async () => {
    await call(client, 'write', { path: '/tmp/work/a.txt', content: 'one\ntwo\n' })
    expect(
      (await call(client, 'edit', { path: '/tmp/work/a.txt', old_string: 'two', new_string: 'three' })).failed,
    ).toBe(false)
    expect((await call(client, 'read', { path: '/tmp/work/a.txt' })).text).toContain('three')
    expect((await call(client, 'list', { path: '/tmp/work' })).structured).toMatchObject({
      entries: [{ name: 'a.txt', type: 'file', size: 10 }],
    })
    expect((await call(client, 'grep', { pattern: 'thr', path: '/tmp/work' })).text).toContain('a.txt:2:three')
    expect((await call(client, 'glob', { pattern: '*.txt', path: '/tmp/work' })).text).toContain('/tmp/work/a.txt')
    const missing = await call(client, 'read', { path: '/tmp/work/none' })
    expect(missing).toMatchObject({ failed: true, text: expect.stringContaining('file_not_found') as string })
  })

  it('forks, works in the copy, and shows what changed there', async () => {
    const { structured } = await call(client, 'fork', { count: 2 })
    const [copy] = structured['sandboxes'] as string[]
    await call(client, 'write', { path: '/root/only-here', content: 'x', sandbox: copy })
    const changes = await call(client, 'diff', { sandbox: copy })
    expect(changes.text).toContain('only-here')
    expect((await call(client, 'read', { path: '/root/only-here' })).failed).toBe(true)
    expect((await call(client, 'snapshot', {})).structured).toMatchObject({
      snapshot: expect.stringMatching(/^sn_/) as string,
    })
    expect((await call(client, 'port_url', { port: 8000 })).structured['url']).toContain('8000')
  })

  it('gives what was done in a repository as a patch', async () => {
    const begin = 'git init -q /tmp/repo && cd /tmp/repo && git config user.email a@b && git config user.name a'
    await call(client, 'exec', { command: `${begin} && echo one > a && git add a && git commit -qm one` })
    expect((await call(client, 'submit', { path: '/tmp/repo' })).text).toContain('nothing has changed')
    await call(client, 'write', { path: '/tmp/repo/a', content: 'two\n' })
    await call(client, 'write', { path: '/tmp/repo/new', content: 'new\n' })
    const { structured, text } = await call(client, 'submit', { path: '/tmp/repo' })
    expect(structured).toMatchObject({ files: ['a', 'new'], truncated: false })
    expect(text).toMatch(/-one\n\+two/)
    const applied = 'git stash -qu && git apply /tmp/hearth-output/submit.patch && cat a new'
    expect((await call(client, 'exec', { command: applied, cwd: '/tmp/repo' })).text).toContain('two\nnew')
    expect(await call(client, 'submit', { path: '/tmp' })).toMatchObject({ failed: true })
  })

  it('reaches no sandbox but its own, and refuses what is not asked properly', async () => {
    await using other = await server.client().create({ rung: 'process' })
    expect(await call(client, 'exec', { command: 'true', sandbox: other.id })).toMatchObject({
      failed: true,
      text: expect.stringContaining('sandbox_not_found') as string,
    })
    for (const input of [{}, { command: 7 }, { command: 'true', unknown: 1 }, { command: 'a\0b' }]) {
      expect(await call(client, 'exec', input).catch(() => ({ failed: true }))).toMatchObject({ failed: true })
    }
  })
})

it('what was made for a client goes with it', async () => {
  const client = await overStdio('--rung', 'process')
  await call(client, 'exec', { command: 'true' })
  await call(client, 'fork', {})
  await client.close()
  const left = async (): Promise<number> => (await server.client().page()).items.length
  await expect.poll(left, { timeout: 20_000 }).toBe(0)
})

describe('many sandboxes', () => {
  it('are made, used, listed and removed over HTTP, with the key of the caller', async () => {
    const http = httpServer({ url: server.url, version: '1' }).listen(0, '127.0.0.1')
    await once(http, 'listening')
    const url = new URL(`http://127.0.0.1:${(http.address() as { port: number }).port}/`)
    const headers = { authorization: `Bearer ${server.key}` }
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }))
    const { structured, text } = await call(client, 'create_sandbox', { at_least: 'process' })
    const id = structured['id'] as string
    expect(text).toContain('runs on')
    expect((await call(client, 'exec', { command: 'echo there', sandbox: id })).text).toContain('there')
    expect((await call(client, 'list_sandboxes')).text).toContain(id)
    expect((await server.client().get(id)).id).toBe(id)
    expect(await call(client, 'exec', { command: 'true' })).toMatchObject({ failed: true })
    await call(client, 'destroy_sandbox', { sandbox: id })
    await expect(server.client().get(id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
    await client.close()

    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401)
    expect((await fetch(url, { method: 'POST', headers: { ...headers, origin: 'http://evil.example' } })).status).toBe(
      403,
    )
    const stranger = new Client({ name: 'test', version: '1' })
    await stranger.connect(
      new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: 'Bearer hearth_wrong' } } }),
    )
    expect(await call(stranger, 'list_sandboxes')).toMatchObject({ failed: true })
    await stranger.close()
    http.closeAllConnections()
    http.close()
  })
})

describe('the configuration of a client', () => {
  const launch = { command: '/usr/bin/node', args: ['/opt/hearth.js', 'mcp'] }

  it.each(CLIENTS)('%s: is added to what is there, and the same the second time', (name) => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-mcp-'))
    const before: Record<string, string> = {
      codex: 'model = "x"\n\n[mcp_servers.other]\ncommand = "y"\n',
    }
    const text = before[name] ?? '{"mcpServers": {"other": {"command": "y"}}, "kept": true}'
    let content: string | null = text
    for (let round = 0; round < 2; round++) {
      const made = configurationFor(name, { project: home, home, launch, read: () => content })
      expect(made.path.startsWith(home)).toBe(true)
      if (round === 1) expect(made.content).toBe(content)
      content = made.content
    }
    expect(content).toContain('other')
    expect(content).toContain('/opt/hearth.js')
    rmSync(home, { recursive: true })
  })

  it('keeps what a person has added to the entry, and refuses forms that it would break', () => {
    const options = { project: '/p', home: '/h', launch }
    const json = '{"mcpServers": {"hearth": {"command": "old", "env": {"HEARTH_URL": "x"}}}}'
    const made = configurationFor('cursor', { ...options, read: () => json })
    expect(JSON.parse(made.content)).toMatchObject({
      mcpServers: { hearth: { command: '/usr/bin/node', env: { HEARTH_URL: 'x' } } },
    })
    const toml = '[mcp_servers.hearth]\ncommand = "old"\n\n[mcp_servers.hearth.env]\nHEARTH_URL = "x"\n'
    const merged = configurationFor('codex', { ...options, read: () => toml }).content
    expect([merged.includes('"old"'), merged.includes('HEARTH_URL = "x"')]).toEqual([false, true])
    for (const text of ['mcp_servers = {}\n', '[mcp_servers]\nhearth = { command = "x" }\n']) {
      expect(() => configurationFor('codex', { ...options, read: () => text }), text).toThrow(/by hand/)
    }
  })

  it('finds the table of Codex however it is written, and takes nothing else for it', () => {
    const launch = { command: '/n', args: ['mcp'], env: { HEARTH_HOME: '/x' } }
    const written = (text: string): string => {
      const once = configurationFor('codex', { project: '/p', home: '/h', launch, read: () => text }).content
      expect(configurationFor('codex', { project: '/p', home: '/h', launch, read: () => once }).content).toBe(once)
      return once
    }
    const own = 'command = "/n"\nargs = ["mcp"]\n'
    const env = 'env = { HEARTH_HOME = "/x" }\n'
    expect(written('[mcp_servers.hearth] # mine\ncommand = "old"\ntimeout = 20\n# note\n[x]\n')).toBe(
      `[mcp_servers.hearth] # mine\n${own}${env}timeout = 20\n# note\n[x]\n`,
    )
    expect(written('[ mcp_servers . "hearth" ]\nargs = [\n  "a", # [x]\n]\n[mcp_servers.hearth.env]\nA = "b"\n')).toBe(
      `[ mcp_servers . "hearth" ]\n${own}[mcp_servers.hearth.env]\nHEARTH_HOME = "/x"\nA = "b"\n`,
    )
    const text = 'text = """\n[mcp_servers.hearth]\n"""\n'
    expect(written(text)).toBe(`${text}\n[mcp_servers.hearth]\n${own}${env}`)
    for (const wrong of [
      'mcp_servers.hearth.command = "x"\n',
      '[mcp_servers]\nother = { args = ["x"] }\nhearth.command = "x"\n',
      '[[mcp_servers]]\n',
      'a = "unterminated\n',
      '[mcp_servers.hearth]\nenv = { A = "b" }\n',
    ]) {
      expect(() => written(wrong), wrong).toThrow(/by hand/)
    }
  })

  it('leaves a file alone that it cannot read', () => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-mcp-'))
    writeFileSync(join(home, '.mcp.json'), '// a comment\n{}')
    const read = (path: string): string => readFileSync(path, 'utf8')
    expect(() => configurationFor('claude-code', { project: home, home, launch, read })).toThrow(/by hand/)
    rmSync(home, { recursive: true })
  })
})
