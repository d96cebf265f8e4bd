import { expect, it } from 'vitest'
import { fitting } from './columns.ts'

it.each([
  ['plain text', 5, 'plain'],
  ['你好世界', 5, '你好'],
  ['a😀b', 2, 'a'],
  ['a😀b', 3, 'a😀'],
  ['e\u0301e\u0301e\u0301', 2, 'e\u0301e\u0301'],
  ['❤\ufe0f!', 2, '❤\ufe0f'],
  ['short', 100, 'short'],
])('%s fits into %d columns as %s', (line, columns, text) => {
  expect(fitting(line, columns)).toBe(text)
})
