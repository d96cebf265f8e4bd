import { expect, test } from 'vitest'
import { copiedKilobytes } from './process-memory.ts'

test('what was copied of a file is counted in each of its mappings, and in no other', () => {
  const section = (range: string, file: string, anonymous: number) =>
    `${range} rw-p 00000000 00:2f 300 ${' '.repeat(20)}${file}\nRss:  9000 kB\nAnonymous:  ${anonymous} kB\nAnonHugePages:  7 kB\n`
  const smaps =
    section('7f00-7f10', '/store/ram', 100) +
    section('7f10-7f20', '/store/ram', 25) +
    section('7f20-7f30', '[heap]', 900)
  expect(copiedKilobytes(smaps, '/store/ram')).toBe(128)
  expect(copiedKilobytes(smaps, '/ram')).toBe(0)
})
