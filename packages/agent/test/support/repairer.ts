import { expect } from 'vitest'
import type { ModelProgram } from './model-program.ts'
import { BUG, FIX, VERIFY } from './repository.ts'

export const TASK = 'Of a range of pages the last page is missing.'

/** Finds out what is wrong by what it sees: runs the tests, looks for the function that fails, changes it, runs them again. */
export const repairer: ModelProgram = ({ last, users, observations }) => {
  if (observations.length === 0) {
    expect(users[0]).toContain(TASK)
    return { text: 'I look at what fails.', calls: [{ tool: 'bash', input: { command: VERIFY } }] }
  }
  if (/FAILED|AssertionError/.test(last) && last.startsWith('exit code 1')) {
    return {
      calls: [
        { tool: 'grep', input: { pattern: 'range\\(', include: '*.py' } },
        { tool: 'glob', input: { pattern: '**/parse.py' } },
      ],
    }
  }
  if (last.endsWith('/ranges/parse.py')) return { calls: [{ tool: 'read', input: { path: last } }] }
  if (last.includes(BUG)) {
    const input = { path: 'ranges/parse.py', old_string: BUG, new_string: FIX }
    return {
      text: 'The end is left out.',
      calls: [
        { tool: 'edit', input },
        { tool: 'bash', input: { command: VERIFY } },
      ],
    }
  }
  return { calls: [{ tool: 'submit', input: { summary: 'the end of a range is included' } }] }
}
