import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES } from '@hearth/contract'
import { HearthCommand } from './hearth-command.ts'

let hearth: HearthCommand
beforeAll(async () => void (hearth = await HearthCommand.create()))
afterAll(async () => await hearth[Symbol.asyncDispose]())

const CASES: readonly [args: string, code: number, message: RegExp][] = [
  ['doctr', 2, /unknown command 'doctr' \(Did you mean doctor\?\)/],
  ['doctor --jsn', 2, /unknown option '--jsn' \(Did you mean --json\?\)/],
  ['run', 125, /missing required argument 'command'/],
  ['run --rong process -- true', 125, /unknown option '--rong' \(Did you mean --rung\?\)/],
  ['run --timeout 30 -- true', 125, /'30' is invalid\. The unit is missing/],
  ['run --memory lots -- true', 125, /'lots' is invalid\. It must be a size like/],
  ['run --memory 1M -- true', 125, /memoryBytes/],
  ['run --rung basement -- true', 125, /'basement' is invalid\. It must be simulated, process, .* or microvm/],
  ['run --at-least basement -- true', 125, /'basement' is invalid\. It must be simulated/],
  ['exec -- sh -c true', 125, /missing required argument 'id'/],
  ['exec --timeout 1s -- sh -c true', 125, /missing required argument 'id'/],
  ['ls --rung basement', 2, /'basement' is invalid\. It must be simulated/],
  ['run --cpus none -- true', 125, /It must be a number of cores/],
  ['run --pids 1.5 -- true', 125, /It must be a whole number/],
  ['run --env A -- true', 125, /It must be KEY=VALUE/],
  ['run --env 1A=x -- true', 125, /env/],
  ['run --workdir relative -- true', 125, /workdir: must be absolute/],
  ['run --user a/b -- true', 125, /user/],
  ['template', 2, /Usage: hearth template/],
  ['template remove x', 2, /unknown command 'remove'/],
  ['template rm', 2, /missing required argument 'names'/],
  ['template rm nothing-there', 1, /nothing-there/],
  ['template build nothing-there', 1, /nothing-there/],
  ['shell', 125, /shell needs a terminal/],
]

describe('wrong use', () => {
  it.each(CASES)('hearth %s', async (args, code, message) => {
    const result = await hearth.run(args.split(' '))
    expect(result).toMatchObject({ code, stdout: '' })
    expect(result.stderr).toMatch(message)
  })

  it.each(CASES.filter(([args]) => !['template', 'shell'].includes(args)))(
    'hearth %s, for programs',
    async (args, code, message) => {
      const [first = '', ...rest] = args.split(' ')
      const group = first === 'template' ? [first, rest.shift() ?? ''] : [first]
      const result = await hearth.run([...group, '--json', ...rest])
      expect(result).toMatchObject({ code, stdout: '' })
      const { error } = JSON.parse(result.stderr) as { error: Record<string, unknown> }
      expect(Object.keys(error)).toEqual(['code', 'message', 'suggestion', 'retryable'])
      expect(error['message']).toMatch(message)
    },
  )
})

describe('help', () => {
  it.each([[[]], [['--help']], [['run', '--help']], [['template', 'build', '-h']]])('%j', async (args) => {
    const result = await hearth.run(args)
    expect(result).toMatchObject({ code: 0, stderr: '' })
    expect(result.stdout).toMatch(/^Usage: hearth/)
  })

  it('tells the version', async () => {
    expect(await hearth.run(['--version'])).toMatchObject({ code: 0, stdout: '0.1.0\n' })
  })
})

describe('help', () => {
  it('names every scope that a key can have', async () => {
    const { stdout } = await hearth.run(['key', 'create', '--help'])
    const [, scopes = ''] = /--scope <name> ([^(]+)/.exec(stdout) ?? []
    expect(scopes.split(/,|\bor\b/).map((name) => name.trim())).toEqual([...SCOPES])
  })
})
