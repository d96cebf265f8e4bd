import { expect, it } from 'vitest'
import { exitCodeOf } from './exit-codes.ts'

it.each([
  [{ exitCode: 0, signal: null, timedOut: false }, 0],
  [{ exitCode: 42, signal: null, timedOut: false }, 42],
  [{ exitCode: null, signal: 'SIGTERM', timedOut: false }, 143],
  [{ exitCode: null, signal: 'SIGKILL', timedOut: true }, 124],
])('%j ends with %d', (exit, code) => expect(exitCodeOf(exit)).toBe(code))
