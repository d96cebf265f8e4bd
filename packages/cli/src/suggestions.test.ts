import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { expect, it } from 'vitest'
import { ERROR_CODES } from '@hearth/contract'
import { makeProgram } from './program.ts'

const packages = join(import.meta.dirname, '../..')

/** Commands in backquotes, as texts name them: words and options up to the first argument. */
function commandsIn(text: string): string[] {
  return Array.from(text.matchAll(/`hearth ((?:(?:--)?[a-z][a-z-]*(?= |\\?`) ?)+)/g), ([, words = '']) => words.trim())
}

/** What of it is no command or option. */
function missingIn(words: string): string | null {
  let command: Command = makeProgram(() => undefined)
  for (const word of words.split(' ')) {
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (next !== undefined) command = next
    else if (word.startsWith('--') ? !takes(command, word) : command.commands.length > 0) return word
  }
  return null
}

function takes(command: Command, option: string): boolean {
  return option === '--help' || command.options.some(({ long }) => long === option)
}

it('every command that the suggestion of an error names exists', () => {
  const named = Object.values(ERROR_CODES).flatMap(({ suggestion }) => commandsIn(suggestion))
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter((words) => missingIn(words) !== null)).toEqual([])
  expect(missingIn('grant show')).toBe('grant')
})

it('every command that a text of the program names exists', () => {
  const files = globSync('{agent,cli,contract,engine,mcp,server}/src/**/*.ts', { cwd: packages })
  const named = files.flatMap((file) => commandsIn(readFileSync(join(packages, file), 'utf8').replaceAll('\\`', '`')))
  expect(named.length).toBeGreaterThan(40)
  expect([...new Set(named)].filter((words) => missingIn(words) !== null)).toEqual([])
})
