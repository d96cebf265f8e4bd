import { spawnSync } from 'node:child_process'
import { createServer, request } from 'node:http'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rung } from '@hearth/contract'
import { makeServer, Session } from '@hearth/mcp'
import { Hearth } from '@hearth/sdk'
import { Client, InMemoryTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, HEARTH_PROGRAM, portOf, ways } from './support/mcp-client.ts'

let server: ApiProcess
beforeAll(async () => {
  server = await ApiProcess.start()
})
afterAll(async () => await server[Symbol.asyncDispose]())

const WAYS = ways(() => server)

describe.each(['process', 'gvisor'] satisfies Rung[])('every tool on %s', (rung) => {
  it.each(WAYS)('by %s', { timeout: 60_000 }, async (_, connect) => {
    await using connected = await connect()
    const { client } = connected
    const { tools } = await client.listTools()
    const called = new Set<string>()
    const tool = async (name: string, input: Record<string, unknown> = {}) => {
      called.add(name)
      const answer = await call(client, name, input)
      // All of it is there for programs, too, and the client has checked it against its shape.
      expect(tools.find((each) => each.name === name)?.outputSchema, name).toBeDefined()
      expect([name, Object.keys(answer.structured).length > 0]).toEqual([name, true])
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

describe('what takes long to be made of a sandbox', () => {
  it('is waited for no longer than clients wait, and the same call again comes back for it', async () => {
    await using slow = await slowServer(1000, /\/(fork|snapshots|diff)(\?|$)/)
    const hearth = new Hearth({ url: slow.url, apiKey: server.key })
    await using session = new Session({ hearth, multi: false, patienceMs: 700, spec: { rung: 'process' } })
    const [here, there] = InMemoryTransport.createLinkedPair()
    await makeServer(session, '1').connect(there)
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(here)
    await call(client, 'exec', { command: 'true' })
    const sandboxes = (await hearth.page()).items.length
    const snapshots = (await hearth.snapshots.list()).length
    for (const [name, input, what] of [
      ['fork', { count: 2 }, 'copies are still being made'],
      ['snapshot', { name: 'slow' }, 'snapshot is still being taken'],
      ['diff', { paths: ['/tmp'] }, 'still being compared'],
    ] as const) {
      expect(await call(client, name, input)).toMatchObject({
        failed: true,
        text: expect.stringMatching(new RegExp(`${what}\n.*same call again`)) as string,
      })
      await expect.poll(async () => (await call(client, name, input)).failed, { timeout: 20_000 }).toBe(false)
    }
    expect((await hearth.page()).items.length).toBe(sandboxes + 2)
    expect((await hearth.snapshots.list()).length).toBe(snapshots + 1)
    await client.close()
  })
})

/** The server, which takes its time for some calls. */
async function slowServer(
  milliseconds: number,
  which = /^\/v1\/sandboxes$/,
): Promise<AsyncDisposable & { readonly url: string }> {
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
    const isSlow = which.test(path ?? '') && (method === 'POST' || path?.includes('diff') === true)
    setTimeout(pass, isSlow ? milliseconds : 0)
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
