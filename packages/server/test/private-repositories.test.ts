import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { GitServer } from '../src/workspaces/testing/git-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const CALL = { idempotencyKey: null, signal: NEVER } as const
const TOKEN = 'token-of-somebody-0123456789'

let home: TestHome
let server: TestServer
let upstream: Upstream
let remote: GitServer
let caller: Caller
let url: string

beforeAll(async () => {
  upstream = new Upstream()
  remote = await GitServer.start(upstream.root, TOKEN)
  url = `${remote.url}/upstream.git`
  home = await TestHome.make()
  server = await home.start()
  caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces'] as const) }
  const binding = { name: '127.0.0.1', placement: { in: 'basic' as const } }
  await server.store.secrets.put(caller.tenantId, { name: 'forge', value: TOKEN, binding })
  await server.store.secrets.put(caller.tenantId, { name: 'wrong', value: 'not-the-token', binding })
  const elsewhere = { ...binding, name: 'example.com' }
  await server.store.secrets.put(caller.tenantId, { name: 'elsewhere', value: TOKEN, binding: elsewhere })
  const narrow = { ...binding, branches: ['agent/*'] }
  await server.store.secrets.put(caller.tenantId, { name: 'narrow', value: TOKEN, binding: narrow })
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  await remote[Symbol.asyncDispose]()
  upstream[Symbol.dispose]()
})

const add = (request: object) => server.plane.repositories.add(caller, { url, ...request }, CALL)

describe('a repository that needs a token', () => {
  it('is refused without the right one, and with one that is bound elsewhere', async () => {
    await expect(add({})).rejects.toMatchObject({ code: 'repository_denied' })
    await expect(add({ secret: 'wrong' })).rejects.toMatchObject({ code: 'repository_denied' })
    const before = remote.asked.length
    await expect(add({ secret: 'elsewhere' })).rejects.toMatchObject({ code: 'repository_denied' })
    await expect(add({ secret: 'none' })).rejects.toMatchObject({ code: 'secret_not_found' })
    expect(remote.asked.length).toBe(before)
  })

  it('is cloned, fetched and pushed to with it, and no guest and no file of the host ever has it', async () => {
    expect(await add({ secret: 'forge' })).toMatchObject({
      state: 'ready',
      defaultBranch: 'main',
      url,
      secret: 'forge',
    })
    const workspace = await server.plane.workspaces.create(caller, { url, secret: 'forge' }, CALL)
    const sandbox = await server.create({ workspace: workspace.id })
    expect(
      await server.run(sandbox.id, 'git log --format=%s; echo changed >README.md; git config --list; env'),
    ).not.toContain(TOKEN)
    const { commit } = await server.plane.workspaces.commit(caller, workspace.id, { message: 'm' }, CALL)
    await server.plane.workspaces.push(caller, workspace.id, {}, CALL)
    expect(upstream.git('-C', upstream.path, 'rev-parse', workspace.branch).trim()).toBe(commit)
    expect(upstream.show(`${workspace.branch}:README.md`)).toBe('changed\n')
    await server.plane.delete(caller, sandbox.id)
    const found = (secret: string): string =>
      execFileSync('sh', ['-c', `grep -rlF -e '${secret}' '${home.path}' || true`]).toString()
    expect(found(TOKEN)).toBe('')
    expect(found(Buffer.from(`x-access-token:${TOKEN}`).toString('base64'))).toBe('')
    // Somebody else was faster.
    upstream.write('other.txt', 'other\n')
    upstream.git('-C', upstream.path, 'update-ref', `refs/heads/${workspace.branch}`, upstream.commit('other'))
    await expect(server.plane.workspaces.push(caller, workspace.id, {}, CALL)).rejects.toMatchObject({
      code: 'push_rejected',
    })
    expect(await server.plane.workspaces.push(caller, workspace.id, { force: true }, CALL)).toMatchObject({ commit })
  })

  it('is pushed to only on the branches that its token was stored for', async () => {
    const workspace = await server.plane.workspaces.create(caller, { url, secret: 'narrow' }, CALL)
    const sandbox = await server.create({ workspace: workspace.id })
    await server.run(sandbox.id, 'echo more >>README.md')
    await server.plane.delete(caller, sandbox.id)
    await server.plane.workspaces.commit(caller, workspace.id, { message: 'm' }, CALL)
    const push = (branch: string) => server.plane.workspaces.push(caller, workspace.id, { branch }, CALL)
    await expect(push('main')).rejects.toMatchObject({ code: 'repository_denied' })
    expect(await push('agent/x')).toMatchObject({ branch: 'agent/x' })
  })

  it('does not lead elsewhere: a redirect is refused, and nobody gets the token there', async () => {
    await using thief = await GitServer.start(upstream.root, TOKEN)
    const { items } = await server.plane.repositories.list(caller, { limit: 10, cursor: null })
    remote.redirect = thief.url
    try {
      await expect(server.plane.repositories.fetch(caller, items[0]?.id ?? '', NEVER)).rejects.toMatchObject({
        code: 'repository_unreachable',
      })
    } finally {
      remote.redirect = null
    }
    expect(thief.asked).toEqual([])
  })
})

describe('what a server of git sends', () => {
  it('is checked: a tree that would write into .git is not kept', async () => {
    using hostile = new Upstream()
    const blob = hostile.git('-C', hostile.path, 'rev-parse', 'main:README.md').trim()
    const entry = Buffer.concat([Buffer.from('100644 .git\0'), Buffer.from(blob, 'hex')])
    const env = { PATH: process.env['PATH'], GIT_DIR: hostile.path }
    const hash = ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally']
    const tree = execFileSync('git', hash, { input: entry, env }).toString().trim()
    const commit = hostile.git('-C', hostile.path, 'commit-tree', '-m', 'evil', tree).trim()
    hostile.git('-C', hostile.path, 'update-ref', 'refs/heads/main', commit)
    const added = server.plane.repositories.add(caller, { path: hostile.path }, CALL)
    await expect(added).rejects.toMatchObject({ code: 'repository_invalid' })
    const { items } = await server.plane.repositories.list(caller, { limit: 10, cursor: null })
    expect(items.find(({ path }) => path === hostile.path)).toMatchObject({ state: 'failed', bytes: 0 })
  })
})
