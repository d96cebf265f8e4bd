import { renameSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { WorkspaceId, WorkspaceView } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import type { Caller } from '../src/control-plane.ts'
import { NEVER, TestHome, type TestServer } from '../src/lifecycle/test-server.ts'
import { Upstream } from '../src/workspaces/testing/upstream.ts'

const CALL = { idempotencyKey: null, signal: NEVER } as const

let home: TestHome
let server: TestServer
let upstream: Upstream
let caller: Caller

beforeAll(async () => {
  upstream = new Upstream()
  home = await TestHome.make()
  server = await home.start()
  caller = { ...(await server.caller()), scopes: new Set(['admin', 'operator', 'workspaces'] as const) }
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await home[Symbol.asyncDispose]()
  upstream[Symbol.dispose]()
})

const make = (source: object = {}): Promise<WorkspaceView> =>
  server.plane.workspaces.create(caller, { path: upstream.path, ...source }, CALL)

const status = (id: string) => server.plane.workspaces.status(caller, id, NEVER)

describe('a workspace', () => {
  it('is a checkout in which git works as whoever runs there, and is committed and pushed on the host', async () => {
    const workspace = await make()
    expect(workspace).toMatchObject({ state: 'ready', head: null, sandbox: null, lifetime: 'durable' })
    const sandbox = await server.create({ workspace: workspace.id })
    const run = (command: string): Promise<string> => server.run(sandbox.id, command)
    expect(await run('pwd; git status --porcelain --branch; git log --format=%s; ls -a; ./src/run.sh 2>&1')).toBe(
      `/workspace\n## ${workspace.branch}\nfirst\n.\n..\n.git\n.gitignore\nREADME.md\nlink\nsrc\nhello\n`,
    )
    expect(await status(workspace.id)).toEqual({ dirty: false, unpushed: false, files: [], skipped: [] })

    await run(
      'echo two >README.md; echo new >new.txt; echo x >noise.log; rm src/run.sh; ln -s /etc/passwd evil; mkfifo pipe',
    )
    expect(await run('git add README.md && git commit -q -m inside && git log --format=%s 2>&1')).toBe(
      'inside\nfirst\n',
    )
    const found = await status(workspace.id)
    expect(found).toMatchObject({ dirty: true, unpushed: true })
    expect(found.files.map(({ path }) => path).toSorted()).toEqual(['README.md', 'evil', 'new.txt', 'src/run.sh'])
    expect(found.skipped).toEqual([
      { path: 'pipe', reason: 'it is neither a file nor a link' },
      { path: `.git/refs/heads/${workspace.branch}`, reason: expect.stringContaining('commits that are nowhere else') },
    ])

    const wish = { message: 'change it', author: { name: 'A', email: 'a@example.invalid' } }
    const { commit, created } = await server.plane.workspaces.commit(caller, workspace.id, wish, CALL)
    expect(created).toBe(true)
    expect(await server.plane.workspaces.commit(caller, workspace.id, wish, CALL)).toEqual({ commit, created: false })
    expect(await status(workspace.id)).toMatchObject({ dirty: false, unpushed: true })
    const pushed = await server.plane.workspaces.push(caller, workspace.id, { branch: 'agent/one' }, CALL)
    expect(pushed).toEqual({ branch: 'agent/one', commit })
    expect(upstream.show('agent/one:README.md')).toBe('two\n')
    expect(upstream.show('agent/one:evil')).toBe('/etc/passwd')
    expect(upstream.git('-C', upstream.path, 'log', '--format=%s %an', 'agent/one')).toBe(
      'change it A\nfirst Somebody\n',
    )
    expect(await status(workspace.id)).toMatchObject({ dirty: false, unpushed: false })
    await server.plane.delete(caller, sandbox.id)
  })

  it('has one writer, and can be had by the next one when that has ended', async () => {
    const { id } = await make()
    const first = await server.create({ workspace: id })
    await expect(server.create({ workspace: id })).rejects.toMatchObject({ code: 'workspace_in_use' })
    await expect(server.plane.workspaces.remove(caller, id)).rejects.toMatchObject({ code: 'workspace_in_use' })
    expect(await server.plane.workspaces.get(caller, id)).toMatchObject({ sandbox: first.id })
    await server.run(first.id, 'echo kept >kept')
    await server.plane.delete(caller, first.id)
    const second = await server.create({ workspace: id })
    expect(await server.run(second.id, 'cat kept')).toBe('kept\n')
    await server.plane.delete(caller, second.id)
    await server.plane.workspaces.remove(caller, id)
    await expect(server.plane.workspaces.get(caller, id)).rejects.toMatchObject({ code: 'workspace_not_found' })
  })

  it('is made without the server of the repository when the commit is there, and of the newest one otherwise', async () => {
    const before = await make()
    const away = `${upstream.path}.away`
    renameSync(upstream.path, away)
    try {
      expect(await make()).toMatchObject({ base: before.base, state: 'ready' })
      await expect(make({ fetch: 'always' })).rejects.toMatchObject({ code: 'repository_unreachable' })
    } finally {
      renameSync(away, upstream.path)
    }
    upstream.write('src/deep/added.txt', 'added\n')
    upstream.write('README.md', 'newer\n')
    const newer = upstream.commit('second')
    expect(await make({ fetch: 'never' })).toMatchObject({ base: before.base })
    const after = await make({ fetch: 'always' })
    expect(after.base).toBe(newer)
    const sandbox = await server.create({ workspace: after.id })
    expect(
      await server.run(
        sandbox.id,
        'git status --porcelain; git log --format=%s; cat README.md src/deep/added.txt; git fsck 2>&1',
      ),
    ).toBe('second\nfirst\nnewer\nadded\n')
    await server.plane.delete(caller, sandbox.id)
  })

  it('forks with its sandbox, and the copy goes with the child unless it is kept', async () => {
    const { id } = await make()
    const parent = await server.create({ workspace: id })
    await server.run(parent.id, 'echo before >before')
    const { children } = await server.plane.copies.fork(caller, parent.id, { count: 2 }, CALL)
    const { items } = await server.plane.workspaces.list(caller, { limit: 100, cursor: null })
    const own = items.filter(({ parent: of }) => of === id)
    expect(own.map(({ lifetime, state }) => [lifetime, state])).toEqual([
      ['sandbox', 'ready'],
      ['sandbox', 'ready'],
    ])
    const [one, other] = children.map((child) => child.id) as [string, string]
    await server.run(one, 'echo one >own')
    expect(await server.run(other, 'cat before; ls own 2>&1')).toContain('before\n')
    expect(await server.run(parent.id, 'ls')).not.toContain('own')
    const kept = own.find(({ sandbox }) => sandbox === one)
    await server.plane.workspaces.update(caller, kept?.id ?? '', { lifetime: 'durable' })
    for (const sandbox of [one, other, parent.id]) await server.plane.delete(caller, sandbox)
    await server.plane.reconcile()
    const left = (await server.plane.workspaces.list(caller, { limit: 100, cursor: null })).items
    expect(left.filter(({ parent: of }) => of === id).map((each) => each.id)).toEqual([kept?.id])
    expect((await status(kept?.id ?? '')).files.map(({ path }) => path)).toEqual(['before', 'own'])
    expect(server.problems).toEqual([])
  })

  it('has lost nothing while it is being removed: its files go before its row', async () => {
    const { id } = await make()
    const { volumeId } = await server.store.workspaces.moveFree(id as WorkspaceId, 'deleting')
    await using engine = new Hearth({ home: home.path, spareKeepers: 0 })
    await engine.volumes.discard(volumeId)
    await server.plane.reconcile()
    expect(server.problems).toEqual([])
  })

  it('is evicted only when what nobody else has is saved', async () => {
    const [clean, dirty] = [await make(), await make()]
    const sandbox = await server.create({ workspace: dirty.id })
    await server.run(sandbox.id, 'echo changed >README.md')
    await server.plane.delete(caller, sandbox.id)
    const collect = async (request: object) => {
      const { workspaces } = await server.plane.workspaces.collect(caller, { unusedMs: 0, ...request })
      return workspaces.filter(({ id }) => id === clean.id || id === dirty.id)
    }
    expect(await collect({ dryRun: true })).toEqual([{ id: clean.id, rescued: false }])
    expect(await collect({})).toEqual([{ id: clean.id, rescued: false }])
    expect(await server.plane.workspaces.get(caller, dirty.id)).toMatchObject({ state: 'ready' })
    expect(await collect({ dirty: true })).toEqual([{ id: dirty.id, rescued: true }])
    const gone = await server.plane.workspaces.get(caller, dirty.id)
    expect(gone).toMatchObject({ state: 'evicted', rescued: { bytes: expect.any(Number) } })
    const { patch } = await server.plane.workspaces.diff(caller, dirty.id, 'base', NEVER)
    expect(Buffer.from(patch, 'base64').toString()).toContain('+changed')
    await expect(server.create({ workspace: dirty.id })).rejects.toMatchObject({ code: 'workspace_evicted' })
    expect(server.problems).toEqual([])
  })

  it.each([
    ['a stash', 'echo x >README.md; git stash -q', '.git/refs/stash'],
    [
      'a commit on another branch',
      'git switch -qc o; git commit -qm o --allow-empty; git switch -q -',
      '.git/refs/heads/o',
    ],
    ['packed branches', 'git commit -qm o --allow-empty; git pack-refs --all; git reset -q HEAD~1', '.git/packed-refs'],
    ['a commit without a branch', 'git switch -q --detach; git commit -qm o --allow-empty', '.git/HEAD'],
    ['a file that is too large', 'truncate -s 101M large', 'large'],
    ['a name that is no text', 'touch "$(printf \'a\\377b\')"', 'a\ufffdb'],
  ])('is never evicted with %s, of which a patch saves nothing', async (_what, command, path) => {
    const { id } = await make()
    const sandbox = await server.create({ workspace: id })
    await server.run(sandbox.id, `exec 2>&1; ${command}`)
    await server.plane.delete(caller, sandbox.id)
    expect((await status(id)).skipped.map((each) => each.path)).toEqual([path])
    const { workspaces } = await server.plane.workspaces.collect(caller, { unusedMs: 0, dirty: true })
    expect(workspaces.map((each) => each.id)).not.toContain(id)
    expect(await server.plane.workspaces.get(caller, id)).toMatchObject({ state: 'ready' })
    await server.plane.workspaces.remove(caller, id)
  })

  it('is evicted with a pipe in it, which holds nothing, and with a branch of a commit that the host has', async () => {
    const { id } = await make()
    const sandbox = await server.create({ workspace: id })
    await server.run(sandbox.id, 'mkfifo pipe; git branch other; git tag here')
    await server.plane.delete(caller, sandbox.id)
    const { workspaces } = await server.plane.workspaces.collect(caller, { unusedMs: 0 })
    expect(workspaces).toContainEqual({ id, rescued: false })
  })
})
