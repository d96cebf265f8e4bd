import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let repository: string
beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  repository = join(hearth.home, 'origin')
  mkdirSync(repository)
  writeFileSync(join(repository, 'greeting'), 'hello\n')
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('-c', 'user.name=Ada', '-c', 'user.email=ada@example.com', 'commit', '-q', '-m', 'first')
})
afterAll(async () => await command[Symbol.asyncDispose]())

function git(...args: string[]): string {
  return execFileSync('git', ['-C', repository, ...args], { encoding: 'utf8' })
}

it('changes a repository in sandboxes, and pushes what came of it', { timeout: 60_000 }, async () => {
  const known = (await hearth.output('repo', 'add', repository, '-q')).trim()
  expect(await hearth.output('repo', 'ls')).toMatch(
    new RegExp(`^ID +STATE .*\n${known} +ready +main .*${repository}\n$`),
  )
  const id = (await hearth.output('workspace', 'create', repository, '--branch', 'fix', '-q')).trim()
  expect(await hearth.output('workspace', 'status', id)).toMatch(/^nothing changed since the last commit/)
  const first = await command.create('--workspace', id.slice(-6))
  expect(await hearth.failure('create', '--workspace', id, '--rung', 'process')).toMatchObject({
    code: 'workspace_in_use',
  })
  await hearth.output('exec', first, '--', 'sh', '-c', 'cd /workspace && echo hello, world > greeting')
  await hearth.output('rm', first)
  expect(await hearth.output('workspace', 'status', id)).toMatch(/^there are changes [^]*\n\+1 +-1 +greeting\n$/)
  expect(await hearth.output('workspace', 'diff', id)).toMatch(/^diff --git [^]*\n-hello\n\+hello, world\n$/)
  expect(await hearth.output('workspace', 'diff', id, '--stat')).toBe('+1  -1  greeting\n')
  const author = ['--author', 'Grace <grace@example.com>']
  const commit = (await hearth.output('workspace', 'commit', id, '-m', 'Greet the world', ...author)).trim()
  expect(await hearth.output('workspace', 'commit', id, '-m', 'again')).toBe(`${commit} (nothing has changed since)\n`)
  expect(await hearth.json(['workspace', 'push', id, '--json'])).toEqual({ branch: 'fix', commit })
  expect(git('log', '-1', '--format=%H %an %s', 'fix')).toBe(`${commit} Grace Greet the world\n`)
  expect(await hearth.failure('workspace', 'pr', id, '--title', 'x')).toMatchObject({ code: 'repository_denied' })
  expect(await hearth.output('workspace', 'get', id)).toMatch(new RegExp(`pushed +fix at ${commit}\n`))

  const second = await command.create('--workspace', id)
  expect(await hearth.output('exec', second, '--', 'cat', '/workspace/greeting')).toBe('hello, world\n')
  await hearth.output('rm', second)
  expect(await hearth.output('workspace', 'pin', id)).toMatch(/^ID +STATE .* PINNED .*\nws_\S+ +ready .* yes /)
  expect(await hearth.output('workspace', 'gc', '--unused', '1ms')).not.toContain(id)
  expect(await hearth.failure('repo', 'rm', known)).toMatchObject({ code: 'repository_in_use' })
  expect(await hearth.output('repo', 'gc', '--unused', '1ms', '-q')).toBe('')
  expect(await hearth.output('workspace', 'rm', id)).toBe(`${id}\n`)
  expect(await hearth.output('repo', 'gc', '--unused', '1ms', '--dry-run', '-q')).toBe(`${known}\n`)
  expect(await hearth.output('repo', 'gc', '--unused', '1ms', '-q')).toBe(`${known}\n`)
  expect(await hearth.output('repo', 'fetch', known, '-q')).toBe(`${known}\n`)
  expect(await hearth.output('repo', 'rm', repository)).toBe(`${known}\n`)
})

it('makes a workspace together with its sandbox', async () => {
  const sandbox = await command.create('--workspace', repository)
  expect(await hearth.output('exec', sandbox, '--', 'git', '-C', '/workspace', 'status', '--short')).toBe('')
  const [listed] = await hearth.json<{ id: string; sandbox: string }[]>(['workspace', 'ls', '--json'])
  expect(listed?.sandbox).toBe(sandbox)
  expect(await hearth.failure('workspace', 'rm', listed?.id ?? '')).toMatchObject({ code: 'workspace_in_use' })
  await hearth.output('rm', sandbox)
  await hearth.output('workspace', 'rm', listed?.id ?? '')
})

it('says what is wrong', async () => {
  expect(await hearth.failure('workspace', 'get', 'nothing')).toMatchObject({ code: 'workspace_not_found' })
  expect(await hearth.failure('repo', 'get', 'nothing')).toMatchObject({ code: 'repository_not_found' })
  expect(await hearth.failure('workspace', 'create', 'nothing')).toMatchObject({ code: 'repository_not_found' })
  expect(await hearth.failure('create', '--workspace', 'nothing')).toMatchObject({ code: 'workspace_not_found' })
  expect((await hearth.run(['workspace', 'commit', 'x'])).code).toBe(2)
  expect((await hearth.run(['repo', 'add', '.', '--forge', 'other'])).code).toBe(2)
})
