import { expect, it } from 'vitest'
import { OLDEST_RUNSC, runscDate } from './runsc-version.ts'

it.each([
  ['runsc 0.0~20240729.0', 20_240_729],
  ['runsc release-20221219.0', 20_221_219],
  ['runsc release-20250811.0-3-gabcdef012345', 20_250_811],
  ['runsc VERSION_MISSING', null],
])('%s was made on %s', (version, date) => {
  expect(runscDate(version)).toBe(date)
})

it('refuses the release of Debian 12', () => {
  expect(runscDate('runsc 0.0~20221219.0')).toBeLessThan(OLDEST_RUNSC)
})
