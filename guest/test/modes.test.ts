import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { PROGRAM } from './keeper-harness.ts'

it('refuses a mode that it does not have, in the place of being a guest', () => {
  const { status, stderr } = spawnSync(PROGRAM, ['dance'], { input: '', encoding: 'utf8', timeout: 10_000 })
  expect([status, stderr]).toEqual([2, expect.stringMatching(/^hearth-guest: dance is none of keeper nursery store /)])
})

it.runIf(process.getuid?.() === 0)('begins no machine before what serves its volumes can reach nothing else', () => {
  const directory = mkdtempSync(join(tmpdir(), 'hearth-ready-'))
  mkdirSync(join(directory, '0'))
  const held = openSync(join(directory, 'held'), 'w+')
  const taken = openSync('/dev/null', 'r')
  const look = 'read server rest < /proc/$$/task/$$/children; grep Seccomp: /proc/$server/status'
  const words = ['volumes', '3', '4', '5', '0', directory, 'rw', '--', '/bin/sh', '-c', look]
  try {
    for (let round = 0; round < 20; round++) {
      const stdio = ['ignore', 'pipe', 'pipe', taken, taken, held] as const
      const { stdout } = spawnSync(PROGRAM, words, { stdio: [...stdio], encoding: 'utf8', timeout: 10_000 })
      expect(stdout).toBe('Seccomp:\t2\n')
    }
  } finally {
    closeSync(held)
    closeSync(taken)
    rmSync(directory, { recursive: true })
  }
})
