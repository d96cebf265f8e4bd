import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { stateDirectoryOf, sweepStates, touchState } from './run-states.ts'

const DAY_MS = 24 * 3_600_000
let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hearth-states-'))
  vi.stubEnv('HEARTH_HOME', home)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

it('what runs have left behind goes after a month in which nobody worked with it', async () => {
  await sweepStates()
  for (const [run, days] of [
    ['old', 32],
    ['newer', 30],
    ['taken-up', 60],
  ] as const) {
    await touchState(stateDirectoryOf(run))
    writeFileSync(join(stateDirectoryOf(run), 'HEAD'), '')
    const then = new Date(Date.now() - days * DAY_MS)
    utimesSync(stateDirectoryOf(run), then, then)
  }
  await touchState(stateDirectoryOf('taken-up'))
  await sweepStates()
  expect(readdirSync(join(home, 'agents'))).toEqual(['newer', 'taken-up'])
})
