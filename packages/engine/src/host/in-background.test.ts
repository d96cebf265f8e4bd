import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { Deadline } from '../sandbox/deadline.ts'
import { Cgroups } from './cgroups.ts'
import { readHostFacts } from './facts.ts'
import { inBackground } from './in-background.ts'
import { KeeperPool } from './keeper-pool.ts'

it('what fails in the background is told, also when it fails at once, and rejects nothing', async () => {
  const told: unknown[] = []
  const onProblem = (what: string, error: unknown): void => void told.push([what, String(error)])
  await inBackground('one', () => Promise.reject(new Error('later')), onProblem)
  await inBackground(
    'other',
    () => {
      throw new Error('at once')
    },
    onProblem,
  )
  await inBackground('fine', () => Promise.resolve(), onProblem)
  expect(told).toEqual([
    ['one', 'Error: later'],
    ['other', 'Error: at once'],
  ])
})

it('a sandbox that cannot be ended at its deadline is told of', async () => {
  const told: unknown[] = []
  const expire = (): Promise<void> => Promise.reject(new Error('in use'))
  const deadline = new Deadline(new Date(), expire, (_, error) => void told.push(String(error)))
  await vi.waitFor(() => expect(told).toEqual(['Error: in use']))
  deadline.cancel()
})

it('keepers that cannot be started ahead of need are told of', async () => {
  const home = await mkdtemp(join(tmpdir(), 'hearth-keepers-'))
  const told: string[] = []
  const cgroups = new Cgroups((await readHostFacts()).cgroups, home)
  const keepers = new KeeperPool(join(home, 'no-guest'), home, cgroups, 2, (what) => void told.push(what))
  try {
    await expect(keepers.take()).rejects.toMatchObject({ code: 'launch_failed' })
    await vi.waitFor(() => expect(told).toEqual(['starting keepers ahead of need']))
  } finally {
    await keepers.dispose()
    await rm(home, { recursive: true, force: true })
  }
})
