import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { GuestProcess } from './guest-process.ts'

/** One guest per test, which must end cleanly (the sanitizers look for leaks then), and one scratch directory. */
export interface Fixture {
  guest: GuestProcess
  directory: string
}

export function useGuest(): Fixture {
  const fixture = { directory: '' } as Fixture
  beforeAll(async () => {
    execFileSync('make', ['-s', '-C', fileURLToPath(new URL('..', import.meta.url)), 'sanitized'], { stdio: 'inherit' })
    fixture.directory = await mkdtemp(join(tmpdir(), 'hearth-guest-'))
  }, 180_000)
  beforeEach(async () => {
    fixture.guest = await GuestProcess.start()
  })
  afterEach(async () => {
    await fixture.guest.end()
  })
  afterAll(async () => {
    await rm(fixture.directory, { recursive: true, force: true })
  })
  return fixture
}
