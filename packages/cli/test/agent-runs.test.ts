import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunInfo } from '@hearth/sdk'
import { ServerCommand } from './server-command.ts'

let place: ServerCommand
const directory = mkdtempSync(join(tmpdir(), 'hearth-agent-runs-'))
const repository = join(directory, 'repository')
const GIT = {
  GIT_AUTHOR_NAME: 'a',
  GIT_AUTHOR_EMAIL: 'a@b.invalid',
  GIT_COMMITTER_NAME: 'a',
  GIT_COMMITTER_EMAIL: 'a@b.invalid',
}
const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: repository, encoding: 'utf8', env: { ...process.env, ...GIT } })

const bash = (command: string): object => ({ calls: [{ tool: 'bash', input: { command } }] })
const EDIT = { calls: [{ tool: 'edit', input: { path: 'greet.sh', old_string: 'helo', new_string: 'hello' } }] }
const SUBMIT = { calls: [{ tool: 'submit', input: { summary: 'spelling' } }] }

function script(name: string, ...replies: object[]): string {
  const file = join(directory, name)
  writeFileSync(file, JSON.stringify(replies))
  return `scripted:${file}`
}

beforeAll(async () => {
  place = await ServerCommand.start()
  mkdirSync(repository)
  git('init', '--quiet', '--initial-branch=main')
  writeFileSync(join(repository, 'greet.sh'), 'echo helo\n')
  writeFileSync(join(repository, 'test.sh'), 'test "$(sh greet.sh)" = hello\n')
  // What a hostile repository would like to be run on the host.
  writeFileSync(join(repository, '.gitattributes'), '* filter=evil\n')
  git('config', 'filter.evil.clean', `touch ${join(directory, 'filtered')}; cat`)
  git('add', '.')
  rmSync(join(directory, 'filtered'), { force: true })
  git('-c', 'filter.evil.clean=cat', 'commit', '--quiet', '-m', 'begin')
  rmSync(join(directory, 'filtered'), { force: true })
  for (const hook of ['post-commit', 'reference-transaction', 'pre-commit']) {
    writeFileSync(join(repository, '.git/hooks', hook), `#!/bin/sh\ntouch ${join(directory, 'hooked')}\n`)
    chmodSync(join(repository, '.git/hooks', hook), 0o755)
  }
})
afterAll(async () => {
  await place[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

function agent(model: string, ...more: string[]): string[] {
  return ['agent', 'fix the greeting', '--repo', repository, '--model', model, '--rung', 'process', ...more]
}

async function runs(): Promise<RunInfo[]> {
  return await place.hearth.json<RunInfo[]>(['agent', 'ls', '--json'])
}

describe('hearth agent with a server', () => {
  it('writes a branch, touches nothing else, and leaves no sandbox', async () => {
    const { hearth } = place
    const submit = { calls: [{ tool: 'submit', input: { summary: 'spel\0ling\u001b' } }] }
    const model = script('fix.json', bash('sh test.sh'), EDIT, submit)
    const { code, stdout, stderr } = await hearth.run(agent(model, '--verify', 'sh test.sh', '--branch', 'fix/it'))
    expect([code, stdout]).toEqual([0, ''])
    expect(stderr).toMatch(/^run_\w{20}\n[^]*submitted: the check has passed[^]*branch fix\/it: [0-9a-f]{40}\n$/)
    expect(git('log', '-1', '--format=%an|%s|%b', 'fix/it').trim()).toBe('Hearth agent|fix the greeting|spelling')
    expect(git('diff', '--stat', 'main', 'fix/it')).toContain('1 file changed')
    expect(git('show', 'fix/it:greet.sh')).toBe('echo hello\n')
    expect(git('rev-parse', '--abbrev-ref', 'HEAD').trim()).toBe('main')
    expect(execFileSync('ls', [directory], { encoding: 'utf8' })).not.toMatch(/hooked|filtered/)
    expect(await hearth.json(['ls', '--json'])).toEqual([])
    const again = await hearth.run(agent(model, '--branch', 'fix/it'))
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('there is such a branch already')])
  })

  it('lists, shows and replays its runs', async () => {
    const { hearth } = place
    const [run] = await runs()
    expect(run).toMatchObject({ state: 'stopped', reason: 'submitted', complete: true, driver: null })
    const part = run?.id.slice(-6) ?? ''
    expect((await hearth.run(['agent', 'ls'])).stdout).toMatch(/^ID +STATE +STEPS[^]*submitted[^]*fix the greeting/)
    expect((await hearth.run(['agent', 'show', part])).stdout).toMatch(/steps +3 of 60[^]*1 file changed\n$/)
    expect((await hearth.run(['agent', 'show', part, '--diff'])).stdout).toContain('+echo hello')
    const replay = await hearth.run(['agent', 'replay', part, '--json'])
    const types = replay.stdout
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type)
    expect([types[0], types.at(-1)]).toEqual(['started', 'result'])
    expect((await hearth.run(['agent', 'replay', part])).stdout).toContain('> bash sh test.sh')
    expect(await hearth.run(['agent', 'show', 'zzzz'])).toMatchObject({ code: 1 })
  })

  it('leaves a sandbox of which no patch can be made, and says how to get the files', async () => {
    const { hearth } = place
    const model = script('large.json', bash('echo kept > small; head -c 60000000 /dev/urandom > large'), SUBMIT)
    const { code, stderr } = await hearth.run(agent(model))
    expect(code).toBe(0)
    const [, id = '', until = ''] = /sandbox (\S+) was left as it is, until (\S+);/.exec(stderr) ?? []
    expect(Date.parse(until)).toBeGreaterThan(Date.now())
    expect(stderr).toContain(`hearth cp ${id}:/workspace DIRECTORY`)
    const files = join(directory, 'rescued')
    await hearth.run(['cp', `${id}:/workspace`, files])
    expect(readFileSync(join(files, 'small'), 'utf8')).toBe('kept\n')
    await hearth.run(['rm', id])
  })

  it('begins with a snapshot, and with a secret that it does not see', async () => {
    const { hearth } = place
    const base = await place.create()
    await hearth.output('exec', base, '--', 'sh', '-c', 'mkdir /tmp/app && echo helo > /tmp/app/greet.sh')
    await hearth.output('snapshot', 'create', base, '--name', 'begun')
    await hearth.output('rm', base)
    const stored = await hearth.run(
      ['secret', 'set', 'AGENT_KEY', '--for', 'api.test', '--header', 'x-key'],
      'a value that nobody sees',
    )
    expect(stored.code).toBe(0)
    const model = script(
      'from.json',
      bash('test -n "$TOKEN" && test "$TOKEN" != "a value that nobody sees" && echo hello > greet.sh'),
      SUBMIT,
    )
    const words = ['agent', 'fix it', '--model', model, '--workdir', '/tmp/app', '--from', 'begun', '-q']
    const { code, stdout, stderr } = await hearth.run([...words, '--secret', 'AGENT_KEY=TOKEN'])
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/-helo\n\+hello\n/)
    expect(await hearth.json(['ls', '--json'])).toEqual([])
  })

  it('is resumed when it was killed, and loses nothing', async () => {
    const { hearth } = place
    const slow = bash('echo begun >> marks; sleep 30')
    const { child } = hearth.start(agent(script('slow.json', EDIT, slow, SUBMIT)))
    const id = await begun()
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    expect(await hearth.run(['agent', 'resume', id])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is worked on by'),
    })
    const state = join(hearth.home, 'agents', id)
    renameSync(state, `${state}-away`)
    expect(await hearth.run(['agent', 'resume', id, '--force'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not known here'),
    })
    rmSync(state, { recursive: true })
    renameSync(`${state}-away`, state)
    const { code, stdout, stderr } = await hearth.run(['agent', 'resume', id, '--force'])
    expect(stderr).toMatch(/! goes on\n {2}interrupted: /)
    expect(code).toBe(0)
    expect(stdout).toMatch(/\+echo hello[^]*\+begun/)
    expect(stdout.match(/\+begun/g)).toHaveLength(1)
    expect(await hearth.json(['ls', '--json'])).toEqual([])
  })

  it('is steered, paused, resumed and stopped', async () => {
    const { hearth } = place
    // A pause begins between two commands: there are several, however long it takes to ask for it.
    const commands = [4, 4.1, 4.2, 4.3, 4.4, 120].map((seconds) => bash(`sleep ${seconds}`))
    const { finished } = hearth.start(agent(script('long.json', EDIT, ...commands, SUBMIT)))
    const id = await begun()
    expect(await hearth.run(['agent', 'steer', id, 'leave the tests'])).toMatchObject({ code: 0 })
    expect(await hearth.run(['agent', 'pause', id])).toMatchObject({ code: 0 })
    await expect.poll(async () => (await runs())[0]?.state, { timeout: 20_000 }).toBe('paused')
    expect((await hearth.run(['agent', 'resume', id])).stdout).toMatch(/: resume \(message 3\)\n$/)
    await expect.poll(async () => (await runs())[0]?.state, { timeout: 20_000 }).toBe('running')
    const stopped = await hearth.run(['agent', 'stop', id, 'enough'])
    expect([stopped.code, stopped.stdout]).toEqual([0, expect.stringMatching(/^stopped: enough[^]*1 file changed\n$/)])
    const { code, stdout, stderr } = await finished
    expect([code, stdout]).toEqual([1, expect.stringContaining('+echo hello')])
    expect(stderr).toMatch(/! told: leave the tests[^]*! paused\n! goes on/)
    expect(await hearth.run(['agent', 'stop', id])).toMatchObject({ code: 1 })
  })

  it('is stopped also when nobody works on it, and its sandbox goes', async () => {
    const { hearth } = place
    const { child } = hearth.start(agent(script('left.json', EDIT, bash('sleep 30'), SUBMIT), '--max-time', '5m'))
    const id = await begun()
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    await release(id)
    expect(await hearth.run(['agent', 'steer', id, 'x'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nobody works'),
    })
    expect((await hearth.run(['agent', 'stop', id])).stdout).toMatch(/^stopped: [^]*1 file changed\n$/)
    expect((await runs())[0]).toMatchObject({ id, reason: 'stopped', complete: true })
    expect(await hearth.json(['ls', '--json'])).toEqual([])
  })

  it('is stopped when nobody works on it, and a patch that cannot be kept with it is written to this machine', async () => {
    const { hearth } = place
    const large = bash('head -c 9000000 /dev/urandom > large; sleep 30')
    const { child } = hearth.start(agent(script('left-large.json', EDIT, large, SUBMIT), '--max-time', '5m'))
    const id = await begun()
    await sleep(1000)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    await release(id)
    const { code, stderr } = await hearth.run(['agent', 'stop', id])
    expect(code).toBe(0)
    const [, file = ''] = /was written to (\S+\.patch)$/m.exec(stderr) ?? []
    expect(readFileSync(file, 'utf8')).toMatch(/\+echo hello\n[^]*GIT binary patch/)
  })

  it('keeps what its sub-agents did, in fresh machines of the server too', async () => {
    const { hearth } = place
    const wanted = { task: 'fix the spelling', machine: 'fresh', verify: 'sh test.sh' }
    // Sub-agents follow the same script: they have no such tool, and go on.
    const model = script('give.json', { calls: [{ tool: 'delegate', input: { sub_agents: [wanted] } }] }, EDIT, SUBMIT)
    const { code, stdout, stderr } = await hearth.run(agent(model, '--verify', 'sh test.sh', '--delegate'))
    expect([code, stdout]).toEqual([0, expect.stringContaining('+echo hello')])
    const id = /^run_\w{20}/.exec(stderr)?.[0] ?? ''
    const replay = (await hearth.run(['agent', 'replay', id])).stdout
    expect(replay).toMatch(/^\[sub-agent \w{4}\] begins: fix the spelling\n[^]*^! sub-agent \w{4}: merged greet\.sh$/m)
    const shown = (await hearth.run(['agent', 'show', id])).stdout
    expect(shown).toMatch(
      /steps +6 of 60[^]*sub-agent \w{4} +submitted, 3 steps, its change: merged: fix the spelling\n/,
    )
    expect(await hearth.json(['ls', '--json'])).toEqual([])
    expect((await runs())[0]?.spent.steps).toBe(6)
  })
})

describe('hearth agent --delegate with a server', () => {
  const giving = (wanted: object): object => ({ calls: [{ tool: 'delegate', input: { sub_agents: [wanted] } }] })
  const task = { task: 'fix the spelling', verify: 'sh test.sh' }

  it.each(['fork', 'fresh'])('works in a workspace too, with sub-agents in %s machines', async (machine) => {
    const { hearth } = place
    const id = (await hearth.output('workspace', 'create', repository, '--branch', `by-${machine}`, '-q')).trim()
    const model = script(`${machine}.json`, giving({ ...task, machine }), EDIT, SUBMIT)
    const words = ['agent', 'fix the greeting', '--workspace', id, '--model', model, '--rung', 'process', '--delegate']
    const { code, stderr } = await hearth.run([...words, '--verify', 'sh test.sh'])
    expect([code, stderr]).toEqual([0, expect.stringMatching(/sub-agent \w{4}: merged greet\.sh/)])
    expect(await hearth.output('workspace', 'diff', id)).toContain('+echo hello')
    expect(await hearth.json(['ls', '--json'])).toEqual([])
    await hearth.output('workspace', 'rm', id)
  })

  it('is resumed when it was killed while a sub-agent worked', async () => {
    const { hearth } = place
    // The sub-agent follows the same script: it has no such tool, and goes on to what takes long.
    const model = script('given.json', giving({ ...task, machine: 'fork' }), bash('sleep 20'), EDIT, SUBMIT)
    const before = (await runs())[0]?.id
    const { child } = hearth.start(agent(model, '--verify', 'sh test.sh', '--delegate'))
    const busy = async (): Promise<boolean> => {
      const [run] = await runs()
      return run !== undefined && run.id !== before && run.events >= 10
    }
    await expect.poll(busy, { timeout: 20_000 }).toBe(true)
    const id = (await runs())[0]?.id ?? ''
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    const short = script('given.json', giving({ ...task, machine: 'fork' }), bash('true'), EDIT, SUBMIT)
    const { code, stdout, stderr } = await hearth.run(['agent', 'resume', id, '--force', '--model', short])
    expect([code, stdout]).toEqual([0, expect.stringContaining('+echo hello')])
    expect(stderr).toMatch(/! goes on\n[^]*interrupted/)
  })
})

/** The lease of a run is over when whoever worked on it says nothing for long; here somebody gives it back. */
async function release(id: string): Promise<void> {
  const key = readFileSync(join(place.hearth.home, 'key'), 'utf8').trim()
  const released = await fetch(`${place.server.url}/v1/runs/${id}/lease?lease=1`, {
    method: 'DELETE',
    headers: { authorization: `Bearer ${key}` },
  })
  expect(released.status).toBe(204)
}

/** The newest run, when its long command has begun. */
async function begun(): Promise<string> {
  let id = ''
  await expect
    .poll(
      async () => {
        const [run] = await runs()
        id = run?.id ?? ''
        return run?.state === 'running' && run.events >= 7
      },
      { timeout: 20_000 },
    )
    .toBe(true)
  return id
}
