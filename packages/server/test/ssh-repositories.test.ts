import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { BOUNDS } from '@hearth/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { speakingFor } from '../src/workspaces/testing/ssh-processes.ts'
import { makeKey, SshServer } from '../src/workspaces/testing/ssh-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const CALL = { idempotencyKey: null, signal: NEVER } as const

/** Names that a server has, without end: each line is a frame of git's protocol. */
const FLOOD = `exec yes '003a${'1'.repeat(40)} refs/heads/x'`

let home: TestHome
let server: TestServer
let upstream: Upstream
let remote: SshServer
let caller: Caller
let url: string

beforeAll(async () => {
  upstream = new Upstream()
  remote = await SshServer.ofRepositories(upstream.root)
  url = remote.urlOf('upstream.git')
  home = await TestHome.make()
  server = await home.start()
  caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces'] as const) }
  await putKey('deploy', remote.key)
  await putKey('wrong', await makeKey())
  await putKey('elsewhere', remote.key, {}, { name: 'example.com' })
  await putKey('narrow', remote.key, {}, { branches: ['agent/*'] })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  await remote[Symbol.asyncDispose]()
  upstream[Symbol.dispose]()
})

const putKey = (name: string, value: string, placement: object = {}, binding: object = {}) =>
  server.store.secrets.put(caller.tenantId, {
    name,
    value,
    binding: { name: '127.0.0.1', placement: { in: 'ssh', ...placement }, ...binding },
  })
const add = (request: object) => server.plane.repositories.add(caller, { url, ...request }, CALL)
const asked = (): string[] =>
  readFileSync(join(upstream.root, 'asked.log'), { encoding: 'utf8', flag: 'a+' }).split('\n')
const pins = async () => (await server.plane.repositories.hostKeys(caller, { limit: 10, cursor: null })).items
const forget = async (): Promise<void> => {
  for (const { host } of await pins()) await server.plane.repositories.forgetHostKey(caller, host)
}

/** A key for whatever is there. */
async function boundTo(host: string): Promise<string> {
  const name = `for-${host.replaceAll(/\W/g, '')}`
  await putKey(name, remote.key, {}, { name: host.replaceAll(/[[\]]/g, '') })
  return name
}

/** Looks again and again at what speaks to servers. Gives all that it was told. */
function watchProcesses(): () => string[] {
  const seen: string[] = []
  const timer = setInterval(
    () => seen.push(...speakingFor(home.path).flatMap(({ program, told }) => (program === 'ssh' ? [told] : []))),
    100,
  )
  return () => {
    clearInterval(timer)
    return seen
  }
}

describe('a repository that is spoken to with ssh', () => {
  it('is refused without a key, with a wrong one, and with one that is bound elsewhere or is none', async () => {
    await expect(add({})).rejects.toMatchObject({
      code: 'invalid_request',
      suggestion: expect.stringContaining('--ssh'),
    })
    const before = asked().length
    await expect(add({ secret: 'elsewhere' })).rejects.toMatchObject({ code: 'repository_denied' })
    await expect(add({ secret: 'none' })).rejects.toMatchObject({ code: 'secret_not_found' })
    await server.store.secrets.put(caller.tenantId, {
      name: 'token',
      value: 'token-of-somebody',
      binding: { name: '127.0.0.1', placement: { in: 'basic' } },
    })
    await expect(add({ secret: 'token' })).rejects.toMatchObject({ code: 'repository_denied' })
    await expect(add({ secret: 'wrong' })).rejects.toMatchObject({
      code: 'repository_denied',
      message: expect.stringContaining('refuses the key'),
    })
    expect(asked().length).toBe(before)
    // Who could not log in has learnt nothing.
    expect(await pins()).toEqual([])
    const { items } = await server.plane.repositories.list(caller, { limit: 10, cursor: null })
    expect(items).toMatchObject([{ state: 'failed', url }])
  })

  it('is cloned, fetched and pushed to, and no guest, file, argument or environment ever has the key', async () => {
    const seen = watchProcesses()
    expect(await add({ secret: 'deploy' })).toMatchObject({
      state: 'ready',
      defaultBranch: 'main',
      url,
      secret: 'deploy',
    })
    expect(await pins()).toMatchObject([{ host: `[127.0.0.1]:${remote.port}`, key: remote.hostKey }])
    // Known by now: its address is enough.
    const workspace = await server.plane.workspaces.create(caller, { url }, CALL)
    const sandbox = await server.create({ workspace: workspace.id })
    const found = await server.run(sandbox.id, 'git log --format=%s; echo changed >README.md; git config --list; env')
    expect(found).toContain('first')
    expect(found).not.toContain('PRIVATE KEY')
    const { commit } = await server.plane.workspaces.commit(caller, workspace.id, { message: 'm' }, CALL)
    await server.plane.workspaces.push(caller, workspace.id, {}, CALL)
    expect(upstream.show(`${workspace.branch}:README.md`)).toBe('changed\n')
    expect(upstream.git('-C', upstream.path, 'rev-parse', workspace.branch).trim()).toBe(commit)
    await server.plane.delete(caller, sandbox.id)

    upstream.write('moved.txt', 'moved\n')
    const moved = upstream.commit('moved')
    const later = await server.plane.workspaces.create(caller, { url, fetch: 'always' }, CALL)
    expect(later.base).toBe(moved)
    // A second one of the same commit asks nobody.
    const before = asked().length
    await server.plane.workspaces.create(caller, { url, ref: moved }, CALL)
    expect(asked().length).toBe(before)

    // Somebody else was faster.
    upstream.git('-C', upstream.path, 'update-ref', `refs/heads/${workspace.branch}`, moved)
    await expect(server.plane.workspaces.push(caller, workspace.id, {}, CALL)).rejects.toMatchObject({
      code: 'push_rejected',
    })
    await server.plane.workspaces.push(caller, workspace.id, { force: true }, CALL)
    const [, body = ''] = remote.key.split('\n')
    expect(execFileSync('sh', ['-c', `grep -rlF -e '${body}' '${home.path}' || true`]).toString()).toBe('')
    const told = seen()
    expect(told.length).toBeGreaterThan(0)
    for (const words of told) {
      expect(words).not.toContain(body)
      expect(words).toMatch(/\0-F\0none\0[^]*IdentityFile=\/proc\/\d+\/fd\/\d+\0/)
      expect(words).not.toContain('SSH_AUTH_SOCK')
    }
  })

  it('is one cache, however it is spelled', async () => {
    const { id } = await add({ secret: 'deploy' })
    for (const other of [
      url.replace('ssh://', 'git+ssh://'),
      url.replace('ssh://', 'SSH://'),
      url.replace('/upstream', '//upstream'),
      url.replace('upstream', '%75pstream'),
      `${url}/`,
    ])
      expect(await add({ url: other, secret: 'deploy' }), other).toMatchObject({ id, url })
  })

  it('is pushed to only on the branches that its key was stored for', async () => {
    const workspace = await server.plane.workspaces.create(caller, { url, secret: 'narrow' }, CALL)
    const sandbox = await server.create({ workspace: workspace.id })
    await server.run(sandbox.id, 'echo more >>README.md')
    await server.plane.delete(caller, sandbox.id)
    await server.plane.workspaces.commit(caller, workspace.id, { message: 'm' }, CALL)
    const push = (branch: string) => server.plane.workspaces.push(caller, workspace.id, { branch }, CALL)
    await expect(push('main')).rejects.toMatchObject({ code: 'repository_denied' })
    expect(await push('agent/x')).toMatchObject({ branch: 'agent/x' })
    await add({ secret: 'deploy' })
  })

  it('is in no private network unless an operator says so', async () => {
    const tenant = { ...caller, scopes: new Set(['admin', 'workspaces'] as const) }
    for (const host of ['127.0.0.1', 'localhost', '2130706433', '[::1]'])
      await expect(
        server.plane.repositories.add(
          tenant,
          { url: remote.urlOf('other.git', host), secret: await boundTo(host) },
          CALL,
        ),
        host,
      ).rejects.toMatchObject({ code: 'repository_unreachable', message: expect.stringContaining('public address') })
  })

  it('gives its key to no sandbox', async () => {
    await expect(server.create({ secrets: [{ secret: 'deploy', env: 'KEY' }] })).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining('key of ssh'),
    })
  })
})

describe('the key of a server', () => {
  it('counts from the first time on: another one is refused until the first is forgotten', async () => {
    const { id } = await add({ secret: 'deploy' })
    const { port, key } = remote
    await remote[Symbol.asyncDispose]()
    remote = await SshServer.ofRepositories(upstream.root, { port, key })
    const before = asked().length
    const fetch = () => server.plane.repositories.fetch(caller, id, NEVER)
    await expect(fetch()).rejects.toMatchObject({
      code: 'host_key_changed',
      suggestion: expect.stringContaining('--forget'),
    })
    expect(asked().length).toBe(before)
    await expect(server.plane.repositories.forgetHostKey(caller, 'example.com')).rejects.toMatchObject({
      code: 'not_found',
    })
    await forget()
    expect(await fetch()).toMatchObject({ state: 'ready' })
    expect(await pins()).toMatchObject([{ key: remote.hostKey }])
  })

  it('is the one that its secret names, also the first time', async () => {
    await using stranger = await SshServer.start()
    const other = stranger.hostKey
    await putKey('deploy', remote.key, { hostKeys: [other] })
    const { id } = await add({ secret: 'deploy' })
    const fetch = () => server.plane.repositories.fetch(caller, id, NEVER)
    await expect(fetch()).rejects.toMatchObject({ code: 'host_key_changed' })
    await putKey('deploy', remote.key, { hostKeys: [other, remote.hostKey] })
    expect(await fetch()).toMatchObject({ state: 'ready' })
    await putKey('deploy', remote.key)
  })
})

describe('a hostile server', () => {
  const bounds = { ...BOUNDS }
  const sockets = new Set<Socket>()
  let listener: Server | null = null
  afterEach(async () => {
    Object.assign(BOUNDS, bounds)
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => (listener === null ? resolve(null) : listener.close(resolve)))
    listener = null
  })

  const listening = async (answer: (socket: Socket) => void): Promise<string> => {
    listener = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined))
      answer(socket)
    })
    await new Promise<void>((resolve) => listener?.listen(0, '127.0.0.1', resolve))
    return `ssh://git@127.0.0.1:${(listener.address() as { port: number }).port}/x`
  }
  const refused = async (place: string, code: string): Promise<void> => {
    await expect(add({ url: place, secret: 'deploy' })).rejects.toMatchObject({ code })
    expect(speakingFor(home.path)).toEqual([])
    const { items } = await server.plane.repositories.list(caller, { limit: 100, cursor: null })
    expect(items.find((each) => each.url === place)).toMatchObject({ state: 'failed', bytes: 0 })
  }

  it('that speaks no ssh is told from one that does', async () => {
    await refused(await listening((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')), 'repository_unreachable')
  })

  it('that never says a word is given up', async () => {
    Object.assign(BOUNDS, { repositoryAnswerMs: 1500 })
    await refused(await listening(() => undefined), 'repository_unreachable')
  })

  it('that never ends its greeting is given up', async () => {
    Object.assign(BOUNDS, { repositoryAnswerMs: 5000 })
    const flood = (socket: Socket): void =>
      void (socket.write('x'.repeat(65_536)) ? setImmediate(flood, socket) : socket.once('drain', () => flood(socket)))
    await refused(await listening(flood), 'repository_unreachable')
  })

  it.each([
    ['answers what is no git', 'head -c 100000 /dev/urandom', 'repository_unreachable'],
    ['hangs', 'sleep 600', 'repository_unreachable'],
    ['says that there is nothing', "echo 'ERROR: Repository not found.' >&2; exit 1", 'repository_denied'],
    // Names without end, each in a frame of its own.
    ['never ends what it has', FLOOD, 'repository_unreachable'],
  ])('that %s is given up', { timeout: 60_000 }, async (_, script, code) => {
    Object.assign(BOUNDS, { repositoryAnswerMs: 15_000, repositoryMemoryBytes: 256 * 1024 ** 2 })
    if (script === 'sleep 600') Object.assign(BOUNDS, { repositoryAnswerMs: 1500 })
    const file = join(upstream.root, 'hostile.sh')
    writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    await using hostile = await SshServer.start({ command: file })
    await putKey('deploy', hostile.key)
    try {
      await refused(hostile.urlOf('x'), code)
    } finally {
      await putKey('deploy', remote.key)
    }
  })
})
