import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { secretValueSchema } from './secrets.ts'

test.each([
  ['a'.repeat(64), true],
  ['a'.repeat(65), true],
  ['a'.repeat(66), false],
  [`${'a'.repeat(8191)}b`, false],
  ['ab'.repeat(4096), false],
  [`b${'c'.repeat(200)}`, false],
  [randomBytes(4096).toString('hex'), true],
  [randomBytes(6144).toString('base64'), true],
  ['short', false],
  ['line\nbreak in it', false],
])('a value that can be searched for: %s is %s', (value, allowed) => {
  expect(secretValueSchema.safeParse(value).success).toBe(allowed)
})
