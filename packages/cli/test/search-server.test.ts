import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HearthCommand } from './hearth-command.ts'
import { ServerCommand } from './server-command.ts'

let command: ServerCommand
let hearth: HearthCommand
let id: string
let patch: string

beforeAll(async () => {
  command = await ServerCommand.start()
  hearth = command.hearth
  id = await command.create()
  await hearth.run(['exec', id, '--', 'sh', '-c', 'mkdir -p /tmp/app && echo helo > /tmp/app/greeting'])
  patch = join(hearth.home, 'right.patch')
  writeFileSync(patch, ['--- a/greeting', '+++ b/greeting', '@@ -1 +1 @@', '-helo', '+hello', ''].join('\n'))
})
afterAll(async () => await command[Symbol.asyncDispose]())

const judging = ['--workdir', '/tmp/app', '--target', 'grep -qx hello greeting', '--try', 'echo hallo > greeting']

describe('hearth search, with what a server has', () => {
  it('begins with a sandbox, and leaves it as it was', async () => {
    const { code, stdout, stderr } = await hearth.run(['search', patch, '--sandbox', id, ...judging, '-q'])
    expect([code, stdout, stderr]).toEqual([0, `${patch}\n`, ''])
    const { stdout: greeting } = await hearth.run(['exec', id, '--', 'cat', '/tmp/app/greeting'])
    expect(greeting).toBe('helo\n')
    const left = await hearth.json<{ id: string }[]>(['ls', '--json'])
    expect(left.map((sandbox) => sandbox.id)).toEqual([id])
  })

  it('begins with a snapshot', async () => {
    await hearth.json(['snapshot', 'create', id, '--name', 'prepared', '--json'])
    const { code, stdout, stderr } = await hearth.run(['search', patch, '--from', 'prepared', ...judging, '--json'])
    expect(stderr).toBe('')
    expect(JSON.parse(stdout)).toMatchObject({ winner: 0, candidates: [{ outcome: 'passed' }, { outcome: 'failed' }] })
    expect(code).toBe(0)
  })
})

describe('hearth agent --best-of, where a server runs', () => {
  const repository = (): string => {
    const directory = join(hearth.home, 'repository')
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'greeting'), 'helo\n')
    return directory
  }
  const script = (name: string, new_string: string): string => {
    const calls = [
      { tool: 'edit', input: { path: 'greeting', old_string: 'helo', new_string } },
      { tool: 'submit', input: { summary: 'the greeting' } },
    ]
    const path = join(hearth.home, name)
    writeFileSync(path, JSON.stringify(calls.map((call) => ({ calls: [call] }))))
    return `scripted:${path}`
  }
  const task = (...more: string[]): string[] => {
    const words = ['agent', 'fix the greeting', '--repo', repository(), '--rung', 'process', '--best-of', '2']
    return [...words, '--target', 'grep -qx hello greeting', '-q', ...more]
  }
  interface Run {
    readonly id: string
    readonly state: string
    readonly complete: boolean
    readonly parent: string | null
    readonly metadata: Readonly<Record<string, string>>
  }
  const attempts = async (label: string): Promise<Run[]> => {
    const runs = await hearth.json<Run[]>(['agent', 'ls', '--meta', `case=${label}`, '--json'])
    return runs.toReversed()
  }

  it('has the machines made there, and keeps what each attempt did', async () => {
    const models = ['--model', script('wrong.json', 'hallo'), '--with-model', script('right.json', 'hello')]
    const { code, stdout } = await hearth.run(task(...models, '--meta', 'case=both'))
    expect([code, stdout]).toEqual([0, expect.stringContaining('+hello')])
    const runs = await attempts('both')
    expect(new Set(runs.map(({ metadata }) => metadata['attempt']))).toEqual(new Set(['attempt 1', 'attempt 2']))
    expect(new Set(runs.map(({ metadata }) => metadata['search'])).size).toBe(1)
    expect(runs).toEqual(runs.map((run) => ({ ...run, state: 'stopped', complete: true, parent: null })))
    const replays = await Promise.all(runs.map(async (run) => (await hearth.run(['agent', 'replay', run.id])).stdout))
    expect(replays).toEqual(replays.map(() => expect.stringMatching(/> edit greeting[^]*submitted/)))
    const left = await hearth.json<{ id: string }[]>(['ls', '--json'])
    expect(left.map((sandbox) => sandbox.id)).toEqual([id])
  })

  it('says of a branch which attempt it goes on with', async () => {
    const wrong = script('only-wrong.json', 'hallo')
    const { code } = await hearth.run(task('--model', wrong, '--tree', '--max-steps', '12', '--meta', 'case=tree'))
    expect(code).toBe(1)
    const runs = await attempts('tree')
    const branches = runs.filter(({ parent }) => parent !== null)
    expect(branches.length).toBeGreaterThan(0)
    const [first] = branches
    const parent = runs.find((run) => run.id === first?.parent)
    expect(first?.metadata['attempt']).toBe(`${parent?.metadata['attempt']}, branch 1`)
    expect(runs.every((run) => run.complete)).toBe(true)
  })
})
