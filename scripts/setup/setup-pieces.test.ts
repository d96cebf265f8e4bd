import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { installAdvice } from './advice.ts'
import { aptReason } from './apt.ts'
import { Attempts } from './attempts.ts'
import { parseOsRelease } from './distribution.ts'
import { findProgram } from './find-program.ts'
import { findMissing, needsBackports, type Missing } from './requirements.ts'
import { lastLines, runCommand } from './run-command.ts'

const DEBIAN_12 = { id: 'debian', versionId: '12', codename: 'bookworm', root: false, apt: true }
const missing = (name: string, backports = false): Missing => ({
  requirement: { package: name, program: name, purpose: 'a test', backports },
  reason: 'it is not installed',
})

it('gives exact commands to those who are not root', async () => {
  const advice = await installAdvice([missing('crun'), missing('git')], {
    ...DEBIAN_12,
    id: 'ubuntu',
    versionId: '24.04',
  })
  expect(advice).toEqual(['sudo apt-get install -y --no-install-recommends crun git'])
  const debian = await installAdvice([missing('crun'), missing('runsc', true)], DEBIAN_12)
  expect(debian).toContain('sudo apt-get install -y --no-install-recommends crun')
  expect(debian.at(-1)).toBe('sudo apt-get install -y --no-install-recommends -t bookworm-backports runsc')
  expect(await installAdvice([missing('crun')], { ...DEBIAN_12, apt: false })).toEqual([
    "Install with this system's package manager (the names are Debian's): crun",
  ])
})

it('takes backports on Debian 12 alone', () => {
  expect(needsBackports(DEBIAN_12)).toBe(true)
  expect(needsBackports({ ...DEBIAN_12, versionId: '13', codename: 'trixie' })).toBe(false)
  expect(needsBackports({ ...DEBIAN_12, id: 'ubuntu' })).toBe(false)
})

it('reads os-release', () => {
  expect(parseOsRelease('ID=debian\nVERSION_ID="12"\nPRETTY_NAME=\'A "b"\'\n# x\n')).toEqual({
    ID: 'debian',
    VERSION_ID: '12',
    PRETTY_NAME: 'A "b"',
  })
})

it('remembers for a day what was not to be had', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'hearth-attempts-'))
  onTestFinished(async () => await rm(folder, { recursive: true }))
  const path = join(folder, 'cache', 'setup.json')
  const attempts = new Attempts(path)
  expect(await attempts.recent()).toEqual(new Map())
  await attempts.remember([{ package: 'runsc', reason: 'no such package' }], 1000)
  expect([...(await attempts.recent(2000)).keys()]).toEqual(['runsc'])
  expect(await attempts.recent(1000 + 25 * 3_600_000)).toEqual(new Map())
  for (const bad of ['{', '[]', 'null', '{"a":1}', '{"a":{"at":"x"}}']) {
    await writeFile(path, bad)
    expect((await attempts.recent()).size).toBe(0)
  }
})

it('finds programs and runs them', async () => {
  expect(await findProgram('sh', { PATH: '/nowhere' })).toMatch(/\/sh$/)
  expect(await findProgram('no-such-program-at-all')).toBeNull()
  expect(await runCommand('sh', ['-c', 'echo out; echo err >&2; exit 3'])).toMatchObject({ code: 3, stdout: 'out\n' })
  expect((await runCommand('no-such-program-at-all', [])).code).toBe(127)
  expect(lastLines('a\nb\nc\n', 2)).toBe('b\nc')
  expect(aptReason('Reading...\nE: Unable to locate package runsc\n')).toBe('Unable to locate package runsc')
})

it('answers quickly when nothing is missing', async () => {
  const started = performance.now()
  const found = await findMissing({ tests: false })
  expect(performance.now() - started).toBeLessThan(3000)
  expect(found.map(({ requirement }) => requirement.package)).not.toContain('make')
})
