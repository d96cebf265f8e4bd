import { expect, it } from 'vitest'
import { formatBytes, table } from './table.ts'

it('aligns columns and leaves no trailing spaces', () => {
  expect(
    table([
      ['A', 'BB', 'C'],
      ['aaa', '', 'x y'],
      ['', 'b', ''],
    ]),
  ).toBe('A    BB  C\naaa      x y\n     b\n')
  expect(table([])).toBe('')
})

it.each([
  [0, '0 B'],
  [1023, '1023 B'],
  [1024, '1.0 KiB'],
  [8 * 1024 ** 3, '8.0 GiB'],
])('writes %d as %s', (bytes, text) => expect(formatBytes(bytes)).toBe(text))
