import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModelServer } from '../../agent/test/support/model-server.ts'
import { repairer, TASK } from '../../agent/test/support/repairer.ts'
import { FILES, FIX, VERIFY } from '../../agent/test/support/repository.ts'
import { ForgeServer } from '../../server/src/workspaces/forges/forge-server.fixture.ts'
import { makeKey, SshServer } from '../../server/src/workspaces/testing/ssh-server.ts'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

const TOKEN = 'token-of-somebody-0123456789'
const PERSON = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid']

const root = mkdtempSync(join(tmpdir(), 'hearth-cli-ssh-'))
const served = join(root, 'served')
const bare = join(served, 'owner/name.git')
const work = join(root, 'work')
let place: ServerCommand
let hearth: HearthCommand
let models: ModelServer
let remote: SshServer
let forge: ForgeServer
let url: string

const git = (directory: string, ...words: string[]): string =>
  execFileSync('git', [...PERSON, '-C', directory, ...words], { encoding: 'utf8' })

beforeAll(async () => {
  mkdirSync(served, { recursive: true })
  git('.', 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  git('.', 'init', '--quiet', '--initial-branch=main', work)
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(work, name)), { recursive: true })
    writeFileSync(join(work, name), content)
  }
  git(work, 'add', '.')
  git(work, 'commit', '--quiet', '-m', 'A parser of ranges')
  git(work, 'push', '--quiet', bare, 'main')
  models = await ModelServer.start(repairer)
  remote = await SshServer.ofRepositories(served)
  url = remote.urlOf('owner/name.git', 'localhost')
  forge = await ForgeServer.start()
  forge.token = TOKEN
  place = await ServerCommand.start()
  hearth = place.hearth
  Object.assign(hearth.env, { ANTHROPIC_API_KEY: 'key', ANTHROPIC_BASE_URL: models.url })
})
afterAll(async () => {
  await place[Symbol.asyncDispose]()
  for (const server of [models, remote, forge]) await server[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})

const set = ['secret', 'set', 'deploy', '--for', 'localhost'] as const
const agent = [
  'agent',
  TASK,
  '--model',
  'anthropic:claude-sonnet-4-5',
  '--rung',
  'process',
  '--verify',
  VERIFY,
] as const

describe('a repository at an address of ssh', () => {
  it('needs a key without a passphrase, of a server that is the right one', async () => {
    expect(await hearth.failure('repo', 'add', url)).toMatchObject({
      code: 'invalid_request',
      suggestion: expect.stringContaining('hearth secret set NAME --for localhost --ssh < KEYFILE'),
    })
    const locked = await hearth.run([...set, '--ssh'], await makeKey('correct horse'))
    expect([locked.code, locked.stderr]).toEqual([1, expect.stringMatching(/passphrase[^]*ssh-keygen/)])
    expect(await hearth.failure(...set, '--basic', '--host-key', remote.hostKey)).toMatchObject({
      code: 'invalid_request',
    })
    expect(await hearth.failure(...set, '--basic', '--ssh')).toMatchObject({ code: 'invalid_request' })
    await using stranger = await SshServer.start()
    const other = stranger.hostKey
    expect((await hearth.run([...set, '--ssh', '--host-key', `localhost ${other}`], remote.key)).code).toBe(0)
    expect(await hearth.output('secret', 'ls')).toMatch(/deploy +localhost +ssh, to servers with given keys/)
    expect(await hearth.failure('repo', 'add', url, '--secret', 'deploy')).toMatchObject({ code: 'host_key_changed' })
    const known = ['--host-key', remote.knownAs('localhost').trim()]
    expect((await hearth.run([...set, '--ssh', ...known], remote.key)).code).toBe(0)
    expect(await hearth.failure('create', '--secret', 'deploy', '--rung', 'process')).toMatchObject({
      code: 'invalid_request',
    })
    const id = (await hearth.output('repo', 'add', url, '--secret', 'deploy', '-q')).trim()
    expect(await hearth.output('repo', 'host-keys', '-q')).toBe('')
    // Without given keys the one is taken that it has.
    expect((await hearth.run([...set, '--ssh'], remote.key)).code).toBe(0)
    expect(await hearth.output('repo', 'fetch', url.replace('ssh:', 'git+ssh:'), '-q')).toBe(`${id}\n`)
    const pinned = `[localhost]:${remote.port}`
    expect(await hearth.json(['repo', 'host-keys', '--json'])).toMatchObject([{ host: pinned, key: remote.hostKey }])
    expect(await hearth.failure('repo', 'host-keys', '--forget', 'example.com')).toMatchObject({ code: 'not_found' })
    expect(await hearth.output('repo', 'host-keys', '--forget', pinned, '-q')).toBe('')
  })

  it(
    'is changed by an agent: a branch and a pull request, which is asked for with a token of its own',
    { timeout: 120_000 },
    async () => {
      const pr = [...agent, '--repo', url, '--branch', 'fix/one', '--pr']
      const refused = await hearth.run(pr)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('which forge localhost is')])
      const api = ['--forge', 'github', '--forge-api', `${forge.url.replace('127.0.0.1', 'localhost')}/api/v3`]
      await hearth.output('repo', 'add', url, ...api)
      const [made] = await hearth.json<{ id: string }[]>(['workspace', 'ls', '--json'])
      const early = await hearth.failure('workspace', 'pr', made?.id ?? '', '--title', 'x')
      expect(early).toMatchObject({ code: 'repository_denied', suggestion: expect.stringContaining('--forge-secret') })
      expect((await hearth.run(['secret', 'set', 'elsewhere', '--for', 'example.com', '--basic'], TOKEN)).code).toBe(0)
      await hearth.output('repo', 'add', url, '--forge-secret', 'elsewhere')
      const denied = await hearth.failure('workspace', 'pr', made?.id ?? '', '--title', 'x')
      expect(denied).toMatchObject({ code: 'repository_denied' })
      expect(forge.asked).toEqual([])
      expect((await hearth.run(['secret', 'set', 'forge', '--for', 'localhost', '--basic'], TOKEN)).code).toBe(0)
      await hearth.output('repo', 'add', url, '--forge-secret', 'forge')
      expect(await hearth.output('repo', 'get', url)).toMatch(/secret +deploy[^]*forge secret +forge/)

      const { code, stdout, stderr } = await hearth.run([...agent, '--repo', url, '--branch', 'fix/two', '--pr'])
      expect([code, stdout], stderr).toEqual([0, ''])
      expect(git(bare, 'diff', '-U0', 'main', 'fix/two')).toContain(FIX)
      expect(forge.open).toMatchObject([{ branch: 'fix/two', base: 'main', title: TASK }])
      expect(await hearth.json(['ls', '--json'])).toEqual([])
    },
  )

  it('is where the origin of a directory is, when the server knows it so', { timeout: 60_000 }, async () => {
    const copy = join(root, 'copy')
    cpSync(work, copy, { recursive: true })
    git(copy, 'remote', 'add', 'origin', url)
    const { code, stderr } = await hearth.run([...agent, '--repo', copy, '--branch', 'fix/three', '--pr'])
    expect(code, stderr).toBe(0)
    expect(forge.open.at(-1)).toMatchObject({ branch: 'fix/three' })
    expect(git(bare, 'diff', '--name-only', 'main', 'fix/three')).toBe('ranges/parse.py\n')
  })
})
