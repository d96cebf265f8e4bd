import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HearthCommand } from './hearth-command.ts'

let hearth: HearthCommand
const directory = mkdtempSync(join(tmpdir(), 'hearth-search-cli-'))
const repository = join(directory, 'repository')

const fixedBy = (text: string): string =>
  ['--- a/greet.sh', '+++ b/greet.sh', '@@ -1 +1 @@', '-echo helo', `+${text}`, ''].join('\n')
const file = (name: string, content: string): string => {
  const path = join(directory, name)
  writeFileSync(path, content)
  return path
}
const script = (name: string, new_string: string): string => {
  const edit = { tool: 'edit', input: { path: 'greet.sh', old_string: 'helo', new_string } }
  return `scripted:${file(name, JSON.stringify([{ calls: [edit] }, { calls: [{ tool: 'submit', input: { summary: 'x' } }] }]))}`
}

beforeAll(async () => {
  hearth = await HearthCommand.create()
  mkdirSync(repository)
  writeFileSync(join(repository, 'greet.sh'), 'echo helo\n')
  writeFileSync(join(repository, 'verify.sh'), 'test "$(sh greet.sh)" = hello\n')
})
afterAll(async () => {
  await hearth[Symbol.asyncDispose]()
  rmSync(directory, { recursive: true })
})

const where = ['--repo', repository, '--rung', 'process']

interface Report {
  readonly winner: number | null
  readonly reason: string
  readonly candidates: readonly { readonly name: string; readonly outcome: string; readonly patch: string }[]
}

describe('hearth search', () => {
  it('shows what became of each, and gives the patch of the winner', async () => {
    const [right, wrong] = [file('right.patch', fixedBy('echo hello')), file('wrong.patch', fixedBy('echo hallo'))]
    const best = join(directory, 'best.patch')
    const cheat = 'echo true > verify.sh'
    const { code, stdout, stderr } = await hearth.run([
      'search',
      wrong,
      right,
      '--try',
      cheat,
      '--target',
      'sh verify.sh',
      '--diff',
      best,
      ...where,
    ])
    expect(stderr).toMatch(/^judging \S+right\.patch$/m)
    expect(stdout).toMatch(/^ +CANDIDATE +OUTCOME +LINES +AGREE +WHY\n/)
    expect(stdout).toMatch(/wrong\.patch +failed +2 +still fails: target\n/)
    expect(stdout).toMatch(/\n\* +\S+right\.patch +passed +2 +1\/1\n/)
    expect(stdout).toMatch(/echo true > verify\.sh +failed +2 +still fails: target; edits tests, .*: verify\.sh\n/)
    expect(stdout).toMatch(/\nwinner: .*right\.patch, the only one that passes/)
    expect(code).toBe(0)
    execFileSync('git', ['apply', '--check', best], { cwd: repository })
    expect(readFileSync(join(repository, 'greet.sh'), 'utf8')).toBe('echo helo\n')
  })

  it('ends with 1 when there is no winner, as JSON too', async () => {
    const { code, stdout } = await hearth.run([
      'search',
      '--try',
      'true',
      '--verify',
      'sh verify.sh',
      '--json',
      ...where,
    ])
    const report = JSON.parse(stdout) as Report
    expect(report).toMatchObject({ winner: null, candidates: [{ name: 'true', outcome: 'no_change' }] })
    expect(code).toBe(1)
  })

  it('says what is missing', async () => {
    const wrong = async (...args: string[]) => {
      const { code, stderr } = await hearth.run(['search', ...args])
      return [code, stderr] as const
    }
    expect(await wrong('--verify', 'true')).toEqual([1, expect.stringContaining('there is nothing to try')])
    expect(await wrong('--try', 'true', ...where)).toEqual([1, expect.stringContaining('nothing to judge by')])
    const target = await wrong('--try', 'true', '--target', 'true', ...where)
    expect(target).toEqual([1, expect.stringContaining('target passes on the base already')])
    const prepared = await wrong('--try', 'true', '--verify', 'true', '--prepare', 'echo why; exit 3', ...where)
    expect(prepared).toEqual([1, expect.stringContaining('--prepare ended with 3: why')])
    const both = await wrong('--try', 'true', '--verify', 'true', '--sandbox', 'sb_x', '--rung', 'process')
    expect(both).toEqual([1, expect.stringContaining('--rung would make another one')])
  })
})

describe('hearth agent --best-of', () => {
  const task = ['agent', 'fix the greeting', ...where, '--verify', 'sh verify.sh']

  it('gives the patch of the best attempt', async () => {
    const models = ['--model', script('wrong.json', 'hallo'), '--with-model', script('right.json', 'hello')]
    const { code, stdout, stderr } = await hearth.run([...task, '--best-of', '4', ...models])
    expect(stderr).toMatch(/^judging the base\nthe base: 0 checks pass, 1 fail\n/m)
    expect(stderr).toMatch(/\[1\] > edit greet\.sh\n[^]*^judging attempt 1\n[^]*^attempt 1: failed\n/m)
    expect(stderr).toMatch(/\n {3}attempt 1 +failed +2 +still fails: verify\n\* {2}attempt 2 +passed/)
    expect(stderr).toMatch(/attempt 3 +not_tried/)
    expect(stdout).toContain('+echo hello\n')
    expect(code).toBe(0)
  })

  it('says that there is no winner, and gives no patch', async () => {
    const model = script('only-wrong.json', 'hallo')
    const { code, stdout } = await hearth.run([
      ...task,
      '--best-of',
      '2',
      '--model',
      model,
      '--json',
      '--max-steps',
      '3',
    ])
    const lines = stdout.trim().split('\n')
    const types = lines.map((line) => (JSON.parse(line) as { type: string }).type)
    expect(types.slice(0, 2)).toEqual(['judging_base', 'base'])
    expect(types).toEqual(expect.arrayContaining(['attempting', 'judging', 'judged']))
    expect(JSON.parse(lines.find((line) => line.includes('"started"')) ?? '')).toMatchObject({
      attempt: expect.any(Number),
    })
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ type: 'search', winner: null, spent: { steps: 3 } })
    expect(code).toBe(1)
  })

  it('gives each attempt what all may use, and refuses a limit in money that means nothing', async () => {
    const limits = ['--max-steps', '100', '--max-tokens', '9000000', '--max-time', '3h', '--max-cost', '7']
    const words = [...task, '--best-of', '2', '--model', script('limits.json', 'hello'), '--json']
    const { stdout } = await hearth.run([...words, ...limits])
    const budgets = stdout
      .trim()
      .split('\n')
      .flatMap((line) => {
        const { type, budget } = JSON.parse(line) as { type: string; budget?: object }
        return type === 'started' ? [budget] : []
      })
    const budget = { steps: 100, tokens: 9_000_000, dollars: 7, wallTimeMs: 3 * 3_600_000 }
    expect(budgets).toEqual([budget, budget])
    for (const option of ['--model', '--judge-model']) {
      const model = ['--model', script('limits.json', 'hello'), option, 'openai-compatible:http://127.0.0.1:1#x']
      const { code, stderr } = await hearth.run([...task, '--best-of', '2', ...model, '--max-cost', '2'])
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^[^\n]*no price for openai-compatible/)])
    }
  })

  it('says what it prepares, and that a check which passed before proves nothing', async () => {
    const words = [...task, '--best-of', '1', '--model', script('any.json', 'hullo'), '--prepare', 'true']
    const { code, stderr } = await hearth.run(words.map((word) => (word === 'sh verify.sh' ? 'true' : word)))
    expect(stderr).toMatch(/^preparing: true\njudging the base\nthe base: 1 checks pass, 0 fail\n! no check fails/m)
    expect(stderr).toMatch(/the only one that passes[^\n]*no check failed before the change[^\n]*--target\n/)
    expect(code).toBe(0)
  })

  it('gives what had passed when it is interrupted', async () => {
    const slow = file('slow.json', JSON.stringify([{ calls: [{ tool: 'bash', input: { command: 'sleep 100' } }] }]))
    const models = ['--model', script('first.json', 'hello'), '--with-model', `scripted:${slow}`]
    const { child, finished } = hearth.start([...task, '--best-of', '2', ...models])
    let said = ''
    child.stderr?.on('data', (data: Buffer | string) => (said += data.toString()))
    await expect.poll(() => said, { timeout: 60_000, interval: 50 }).toContain('attempt 1: passed')
    child.kill('SIGINT')
    const { code, stdout, stderr } = await finished
    expect(stderr).toMatch(/\n\* {2}attempt 1 +passed[^]*attempt 2 +ended[^]*stopped before all was tried: /)
    expect(stdout).toContain('+echo hello\n')
    expect(code).toBe(130)
  })

  it('refuses what is only for several attempts', async () => {
    const { code, stderr } = await hearth.run([...task, '--model', script('a.json', 'hello'), '--judge-model', 'x:y'])
    expect([code, stderr]).toEqual([1, expect.stringContaining('--judge-model is for several attempts')])
  })
})
