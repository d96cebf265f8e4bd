import type { Command, Option } from 'commander'
import { expect, it } from 'vitest'
import { makeProgram } from '../src/program.ts'

/** Commands that do something, by their words. */
function leaves(command: Command, words: readonly string[] = []): [path: string, command: Command][] {
  if (command.commands.length === 0) return [[words.join(' '), command]]
  return command.commands.flatMap((inner) => leaves(inner, [...words, inner.name()]))
}

const COMMANDS = new Map(leaves(makeProgram(() => undefined)))

/** Without output of their own: a terminal, and a script for a shell. */
const NO_JSON = ['shell', 'completion']

/** Where a word means something else, since what it usually limits or names is not there. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  '--memory': ['hibernate', 'wake', 'fork', 'snapshot create', 'tenant create', 'tenant quota'],
  '--cpus': ['tenant create', 'tenant quota'],
  '--disk': ['tenant create', 'tenant quota'],
}

/** The options that mean the same wherever they are, how they are written, and what they must take and refuse. */
const SHARED: readonly [long: string, flags: RegExp, good: string, bad: string | null][] = [
  ['--rung', /^--rung <name>$/, 'gvisor', 'basement'],
  ['--at-least', /^--at-least <name>$/, 'process', 'basement'],
  ['--template', /^--template <name>$/, 'debian', null],
  ['--from', /^--from <snapshot>$/, 'prepared', null],
  ['--env', /^--env <KEY=VALUE>$/, 'A=b=c', 'A'],
  ['--workdir', /^--workdir <path>$/, '/tmp', null],
  ['--user', /^--user <name>$/, 'nobody', null],
  ['--timeout', /^--timeout <duration>$/, '30s', '30'],
  ['--ttl', /^--ttl <duration>$/, '10m', '10'],
  ['--idle', /^--idle <duration>$/, '5m', '5x'],
  ['--memory', /^--memory <size>$/, '512M', 'lots'],
  ['--cpus', /^--cpus <number>$/, '0.5', 'none'],
  ['--pids', /^--pids <number>$/, '64', '1.5'],
  ['--disk', /^--disk <size>$/, '2G', '2X'],
  ['--allow', /^--allow <name>$/, 'pypi.org:443', null],
  ['--policy', /^--policy <file>$/, 'policy.json', null],
  ['--secret', /^--secret <(NAME\[=ENV\]|name)>$/, 'API_KEY', null],
  ['--meta', /^--meta <KEY=VALUE>$/, 'job=demo', 'job'],
  ['--count', /^-n, --count <number>$/, '3', '0'],
  ['--json', /^--json$/, '', null],
  ['--quiet', /^-q, --quiet$/, '', null],
]

const parse = (option: Option, text: string): unknown =>
  (option.parseArg as ((value: string, previous: unknown) => unknown) | undefined)?.(text, undefined)

it('every command has --json and -q', () => {
  const without = [...COMMANDS].filter(([, { options }]) => {
    const longs = options.map(({ long }) => long)
    return !longs.includes('--json') || !longs.includes('--quiet')
  })
  expect(without.map(([path]) => path)).toEqual(NO_JSON)
})

it.each(SHARED)('%s means the same everywhere', (long, flags, good, bad) => {
  let found = 0
  for (const [path, command] of COMMANDS) {
    const option = command.options.find((one) => one.long === long)
    if (option === undefined || (OTHERWISE[long] ?? []).includes(path) || path === 'bench') continue
    found++
    expect(option.flags, path).toMatch(flags)
    if (good !== '') expect(() => parse(option, good), path).not.toThrow()
    if (bad !== null) expect(() => parse(option, bad), path).toThrow(/must be/i)
  }
  expect(found).toBeGreaterThan(0)
})

it('each command says what it does, and no option is without a word', () => {
  for (const [path, command] of COMMANDS) {
    expect(command.description(), path).not.toBe('')
    for (const { flags, description } of command.options) expect(description, `${path} ${flags}`).not.toBe('')
  }
})
