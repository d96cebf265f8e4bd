import { expect, it } from 'vitest'
import { readOutcomes, sumOf, totalsLine } from './test-totals.ts'

const file = (status: string, ...tests: string[]): object => ({
  name: 'some.test.ts',
  status,
  assertionResults: tests.map((test, index) => ({ status: test, fullName: `test ${index}` })),
})

it('counts tests, and files that did not load', () => {
  const report = {
    testResults: [file('passed', 'passed', 'skipped', 'todo'), file('failed', 'passed', 'failed'), file('failed')],
  }
  const outcomes = readOutcomes(JSON.stringify(report))
  expect(sumOf(outcomes)).toEqual({ passed: 2, failed: 2, skipped: 2 })
  expect(outcomes.map(({ failures }) => failures)).toEqual([[], ['test 1'], []])
  expect(sumOf(readOutcomes('{}'))).toEqual({ passed: 0, failed: 0, skipped: 0 })
})

it('writes one line', () => {
  expect(totalsLine({ passed: 3, failed: 0, skipped: 0 })).toBe('3 passed, 0 failed')
  expect(totalsLine({ passed: 3, failed: 1, skipped: 2 })).toBe('3 passed, 1 failed, 2 skipped')
})
