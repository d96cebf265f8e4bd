import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ForgeServer } from '../packages/server/src/workspaces/forges/forge-server.fixture.ts'
import { GitServer } from '../packages/server/src/workspaces/testing/git-server.ts'
import { ApiProcess } from './support/api-process.ts'
import { callTool as call, overStdioAs } from './support/mcp-client.ts'

/** What was done is submitted as a branch and a pull request, by a host whose token no sandbox has. */
const TOKEN = 'token-of-somebody-0123456789'
const PERSON = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid']
const root = mkdtempSync(join(tmpdir(), 'hearth-mcp-submit-'))
const bare = join(root, 'served/owner/name.git')
let server: ApiProcess
let remote: GitServer
let forge: ForgeServer
let workspace = ''

function git(...words: string[]): string {
  return execFileSync('git', [...PERSON, ...words], { encoding: 'utf8' }).trim()
}

beforeAll(async () => {
  const work = join(root, 'work')
  git('init', '--quiet', '--bare', '--initial-branch=main', bare)
  git('init', '--quiet', '--initial-branch=main', work)
  writeFileSync(join(work, 'greeting'), 'hello\n')
  git('-C', work, 'add', '.')
  git('-C', work, 'commit', '--quiet', '-m', 'A greeting')
  git('-C', work, 'push', '--quiet', bare, 'main')
  remote = await GitServer.start(join(root, 'served'), TOKEN)
  forge = await ForgeServer.start()
  forge.token = TOKEN
  server = await ApiProcess.start()
  const hearth = server.client()
  await hearth.secrets.set('forge', { value: TOKEN, binding: { name: 'localhost', placement: { in: 'basic' } } })
  const url = `${remote.url.replace('127.0.0.1', 'localhost')}/owner/name.git`
  const apiUrl = `${forge.url.replace('127.0.0.1', 'localhost')}/api/v3`
  const { id } = await hearth.repositories.add({ url, secret: 'forge', forge: { kind: 'github', apiUrl } })
  workspace = (await hearth.workspaces.create({ repository: id, branch: 'greet-the-world' })).id
})
afterAll(async () => {
  for (const each of [server, remote, forge]) await each[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})

describe('submit', () => {
  it('pushes the branch of the workspace and asks for a merge', { timeout: 60_000 }, async () => {
    const client = await overStdioAs(
      server,
      'auto',
      '--rung',
      'process',
      '--template',
      'host',
      '--workspace',
      workspace,
    )
    const message = 'Greet the world\n\nNobody else was greeted.'
    expect(await call(client, 'submit', { message })).toMatchObject({
      failed: true,
      text: expect.stringContaining('nothing has changed') as string,
    })
    await call(client, 'write', { path: '/workspace/greeting', content: 'hello, world\n' })
    // Without a message nothing leaves the sandbox but text.
    expect((await call(client, 'submit', { path: '/workspace' })).text).toMatch(/-hello\n\+hello, world/)
    expect(await call(client, 'submit', { pull_request: true })).toMatchObject({ failed: true })
    expect(git('-C', bare, 'branch', '--list', 'greet-the-world')).toBe('')
    const pushed = await call(client, 'submit', { message, pull_request: true })
    expect(pushed).toMatchObject({
      failed: false,
      structured: {
        branch: 'greet-the-world',
        files: ['greeting'],
        patch: expect.stringContaining('+hello, world') as string,
        commit: git('-C', bare, 'rev-parse', 'greet-the-world'),
        pullRequest: expect.stringMatching(/\/owner\/name\/pull\/\d+$/) as string,
      },
    })
    expect(git('-C', bare, 'log', '-1', '--format=%B', 'greet-the-world')).toBe(message)
    expect(forge.open).toMatchObject([
      { branch: 'greet-the-world', base: 'main', title: 'Greet the world', body: 'Nobody else was greeted.' },
    ])
    // Again, after more work: the same pull request.
    await call(client, 'write', { path: '/workspace/new', content: 'x\n' })
    const again = await call(client, 'submit', { message: 'More', pull_request: true })
    expect(again.structured['pullRequest']).toBe(pushed.structured['pullRequest'])
    expect(git('-C', bare, 'rev-list', '--count', 'main..greet-the-world')).toBe('2')
    // The token is nowhere in the sandbox.
    const search = `grep -rs ${TOKEN} /workspace /root /tmp /etc; env | grep ${TOKEN}; echo searched`
    expect((await call(client, 'exec', { command: search })).text).not.toContain(`${TOKEN}\n`)
    await client.close()
  })

  it('says when there is no workspace, or no right to it', { timeout: 60_000 }, async () => {
    const client = await overStdioAs(server, 'auto', '--rung', 'process', '--template', 'host')
    expect(await call(client, 'submit', { message: 'x' })).toMatchObject({
      failed: true,
      text: expect.stringContaining('no workspace') as string,
    })
    await client.close()
  })
})
