import { expect, it } from 'vitest'
import { printable } from './printable.ts'
import { formatDuration, formatUntil } from './time.ts'

it.each([
  [0, '0s'],
  [-5, '0s'],
  [90_000, '90s'],
  [150_000, '2m'],
  [3 * 3_600_000, '3h'],
  [3 * 86_400_000, '3d'],
])('%d ms is %s', (milliseconds, text) => expect(formatDuration(milliseconds)).toBe(text))

it('tells how long is left', () => {
  expect(formatUntil(null)).toBe('never')
  expect(formatUntil(new Date(1000), 2000)).toBe('over')
  expect(formatUntil(new Date(11_000), 1000)).toBe('in 10s')
})

it('shows what would change the terminal', () => {
  expect(printable('a\u001b[31mb\nü')).toBe('a\\u001b[31mb\\u000aü')
})
