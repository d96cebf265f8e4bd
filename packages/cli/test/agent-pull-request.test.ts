import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Rung } from '@hearth/contract'
import { Hearth as Engine, hostPaths, type RungReport } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ModelServer } from '../../agent/test/support/model-server.ts'
import { repairer, TASK } from '../../agent/test/support/repairer.ts'
import { BUG, FILES, FIX, VERIFY } from '../../agent/test/support/repository.ts'
import { ForgeServer } from '../../server/src/workspaces/forges/forge-server.fixture.ts'
import { GitServer } from '../../server/src/workspaces/testing/git-server.ts'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

const TOKEN = 'token-of-somebody-0123456789'
const PERSON = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.invalid']
/** A template with Python, for the rung that cannot see the tools of this host. */
const TEMPLATE = 'code-interpreter'

const root = mkdtempSync(join(tmpdir(), 'hearth-agent-pr-'))
let place: ServerCommand
let reports: readonly RungReport[]
let hearth: HearthCommand
let models: ModelServer
let remote: GitServer
let forge: ForgeServer
/** Of the server of git. */
let url: string

/** A repository with the bug that others have, too, and what is checked out of it here. */
function makeUpstream(path: string): void {
  const bare = join(root, 'served', path)
  const work = join(root, 'work', path)
  git('.', 'init', '--quiet', '--bare', '--initial-branch=main', bare)
  git('.', 'init', '--quiet', '--initial-branch=main', work)
  for (const [name, content] of Object.entries(FILES)) {
    mkdirSync(dirname(join(work, name)), { recursive: true })
    writeFileSync(join(work, name), content)
  }
  git(work, 'add', '.')
  git(work, 'commit', '--quiet', '-m', 'A parser of ranges')
  git(work, 'push', '--quiet', bare, 'main')
}

function git(directory: string, ...words: string[]): string {
  return execFileSync('git', [...PERSON, '-C', directory, ...words], { encoding: 'utf8' })
}

async function said(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await hearth.run(words)
  expect([code, stderr]).toEqual([0, ''])
  return stdout.trim()
}

beforeAll(async () => {
  mkdirSync(root, { recursive: true })
  for (const path of ['owner/name.git', 'group/sub/name.git']) makeUpstream(path)
  models = await ModelServer.start(repairer)
  remote = await GitServer.start(join(root, 'served'), TOKEN)
  url = remote.url.replace('127.0.0.1', 'localhost')
  forge = await ForgeServer.start()
  forge.token = TOKEN
  await using engine = new Engine({ spareKeepers: 0 })
  reports = await engine.rungs()
  if (available('microvm')) await engine.templates.resolve(TEMPLATE, {})
  place = await ServerCommand.start(shareTemplates)
  hearth = place.hearth
  Object.assign(hearth.env, {
    ANTHROPIC_API_KEY: 'key',
    ANTHROPIC_BASE_URL: models.url,
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: models.url,
  })
  const { code, stderr } = await hearth.run(['secret', 'set', 'forge', '--for', 'localhost', '--basic'], TOKEN)
  if (code !== 0) throw new Error(stderr)
  const known = ['--secret', 'forge', '--forge']
  const api = forge.url.replace('127.0.0.1', 'localhost')
  await said('repo', 'add', `${url}/owner/name.git`, ...known, 'github', '--forge-api', `${api}/api/v3`)
  await said('repo', 'add', `${url}/group/sub/name.git`, ...known, 'gitlab', '--forge-api', `${api}/api/v4`)
})
afterAll(async () => {
  await place[Symbol.asyncDispose]()
  for (const server of [models, remote, forge]) await server[Symbol.asyncDispose]()
  rmSync(root, { recursive: true })
})

function available(rung: Rung): boolean {
  return reports.some((report) => report.rung === rung && report.probe.available)
}

/** A new home has none, and making them takes minutes. */
function shareTemplates(home: string): void {
  const own = hostPaths().home
  for (const name of ['templates', 'cache']) symlinkSync(join(own, name), join(home, name))
}

const RUNGS = ['process', 'gvisor', 'microvm'] as const satisfies Rung[]
const MODELS = ['anthropic:claude-sonnet-4-5', 'openai:gpt-5'] as const

describe('a bug in a private repository is fixed by one command', () => {
  it.for(RUNGS.flatMap((rung) => MODELS.map((model) => ({ rung, model }))))(
    'on $rung by $model: a diff, a branch and a pull request',
    async ({ rung, model }, context) => {
      if (!available(rung)) context.skip(`${rung} does not run here`)
      const [repository, served] =
        model === MODELS[0] ? ['/owner/name.git', 'owner/name.git'] : ['/group/sub/name.git', 'group/sub/name.git']
      const branch = `fix/${rung}-${model.split(':')[0]}`
      const patch = join(root, `${rung}.patch`)
      const { code, stdout, stderr } = await hearth.run([
        'agent',
        TASK,
        '--repo',
        `${url}${repository}`,
        '--model',
        model,
        '--verify',
        VERIFY,
        '--rung',
        rung,
        ...(rung === 'microvm' ? ['--template', TEMPLATE] : []),
        '--branch',
        branch,
        '--pr',
        '--diff',
        patch,
      ])
      expect([code, stdout], stderr).toEqual([0, ''])
      expect(stderr).toMatch(
        /^ws_\w{20}, on fix\/\S+ from [0-9a-f]{12}\nrun_\w{20}\n[^]*submitted: the check has passed/,
      )
      expect(readFileSync(patch, 'utf8')).toContain(`+        pages.extend(range(int(first), ${FIX}\n`)
      const bare = join(root, 'served', served)
      const changed = git(bare, 'diff', '-U0', 'main', branch)
      expect(changed).toContain(FIX)
      expect(changed).toContain(BUG)
      expect(git(bare, 'diff', '--name-only', 'main', branch)).toBe('ranges/parse.py\n')
      const [asked] = forge.open.slice(-1)
      expect(asked).toMatchObject({ branch, base: 'main', title: TASK, draft: false })
      expect(asked?.body).toMatch(
        /^the end of a range is included\n\nIts check has passed\. Made by an agent in 5 steps/,
      )
      expect(stderr).toMatch(new RegExp(`${branch} is at [0-9a-f]{40}\n${forge.url}/\\S+/${asked?.number}\n$`))
      expect(models.problems).toEqual([])
      expect(await hearth.json(['ls', '--json'])).toEqual([])
    },
  )
})

describe('hearth agent with a repository', () => {
  const given = ['--model', MODELS[0], '--rung', 'process', '--verify', VERIFY] as const
  const work = (): string => join(root, 'work/owner/name.git')
  const bare = (): string => join(root, 'served/owner/name.git')
  const workspaces = async (): Promise<{ id: string; state: string }[]> => hearth.json(['workspace', 'ls', '--json'])

  it('takes a directory as its origin has it, and gives the result as JSON', async () => {
    git(work(), 'remote', 'add', 'origin', `${url}/owner/name.git`)
    writeFileSync(join(work(), 'only-here.txt'), 'not for others\n')
    const { code, stdout } = await hearth.run(['agent', TASK, ...given, '--repo', work(), '--pr', '--json'])
    expect(code).toBe(0)
    const lines = stdout.trim().split('\n')
    const [result, delivered] = lines.slice(-2).map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(result).toMatchObject({ type: 'result', reason: 'submitted', verified: true })
    const { branch, commit } = delivered as { branch: string; commit: string }
    expect(delivered).toMatchObject({
      type: 'delivered',
      workspace: expect.stringMatching(/^ws_/),
      pullRequest: { url: expect.stringContaining('/owner/name/pull/'), created: true },
    })
    expect(branch).toMatch(/^hearth\//)
    expect(git(bare(), 'rev-parse', branch).trim()).toBe(commit)
    expect(git(bare(), 'diff', '--name-only', 'main', branch)).toBe('ranges/parse.py\n')
  })

  it('pushes nothing of a run that was cut short, and goes on in its workspace', async () => {
    const before = await workspaces()
    const short = await hearth.run([
      'agent',
      TASK,
      ...given,
      '--repo',
      `${url}/owner/name.git`,
      '--branch',
      'late',
      '--max-steps',
      '4',
    ])
    expect([short.code, short.stderr]).toEqual([1, expect.stringMatching(/\nsteps: [^]*1 file changed\n$/)])
    expect(short.stdout).toContain(FIX)
    expect(git(bare(), 'branch', '--list', 'late')).toBe('')
    const known = new Set(before.map(({ id }) => id))
    const [made] = (await workspaces()).filter(({ id }) => !known.has(id))
    const id = made?.id ?? ''
    expect(await said('workspace', 'diff', id, '--stat')).toBe('+1  -1  ranges/parse.py')
    const script = join(root, 'script.json')
    const write = { tool: 'write', input: { path: 'NEWS', content: 'The last page is there.\n' } }
    writeFileSync(script, JSON.stringify([{ calls: [write] }, { calls: [{ tool: 'submit', input: { summary: '' } }] }]))
    const rest = await hearth.run([
      'agent',
      'tell it',
      '--workspace',
      id,
      '--model',
      `scripted:${script}`,
      '--rung',
      'process',
      '--branch',
      'late',
    ])
    expect([rest.code, rest.stdout], rest.stderr).toEqual([0, ''])
    expect(git(bare(), 'diff', '--name-only', 'main', 'late')).toBe('NEWS\nranges/parse.py\n')
  })

  it('leaves no workspace behind of which nothing came', async () => {
    const before = await workspaces()
    const script = join(root, 'nothing.json')
    writeFileSync(script, JSON.stringify([{ text: 'no' }, { text: 'no' }, { text: 'no' }]))
    const { code } = await hearth.run([
      'agent',
      'x',
      '--repo',
      `${url}/owner/name.git`,
      '--model',
      `scripted:${script}`,
      '--rung',
      'process',
      '--pr',
    ])
    expect(code).toBe(1)
    expect(await workspaces()).toEqual(before)
  })

  it('makes a pull request of the best of several', async () => {
    const { code, stdout, stderr } = await hearth.run([
      'agent',
      TASK,
      ...given,
      '--repo',
      `${url}/owner/name.git`,
      '--best-of',
      '2',
      '--target',
      VERIFY,
      '--pr',
      '--branch',
      'best',
      '-q',
    ])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/\/owner\/name\/pull\/\d+\n$/)
    expect(git(bare(), 'diff', '--name-only', 'main', 'best')).toBe('ranges/parse.py\n')
    expect(forge.open.at(-1)).toMatchObject({
      branch: 'best',
      title: TASK,
      body: expect.stringMatching(/best of \d attempts/),
    })
    expect(await hearth.json(['ls', '--json'])).toEqual([])
  })

  it.each([
    [['--repo', '.', '--ref', 'main'], /--ref is for a repository that the server checks out/],
    [['--base', 'main'], /--base is where a pull request goes to/],
    [['--workspace', 'ws', '--repo', '.'], /--workspace is a checkout already/],
    [['--workspace', 'nothing'], /there is no workspace "nothing"/],
    [['--repo', 'https://localhost:1/owner/name'], /the server cannot be reached/],
    [['--repo', '/', '--pr'], /is not the top of a git repository/],
  ])('says what is wrong with %j', async (words, problem) => {
    const { code, stdout, stderr } = await hearth.run(['agent', 'x', '--model', MODELS[0], ...words])
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(problem)
  })
})
