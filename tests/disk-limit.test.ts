import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureStore, Hearth, removeStore, type EmbeddedSandbox } from '@hearth/engine'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'
import { list } from './support/small-store.ts'

const MiB = 1024 * 1024
const LIMIT = 16 * MiB
/** What btrfs needs for itself, what a wake may write beyond the limit, and notes of the store. */
const SLACK = 4 * MiB
const ROUNDS = 4

const root = process.getuid?.() === 0
const rungs = await (async () => {
  await using hearth = new Hearth({ spareKeepers: 0 })
  return (await ladder(hearth)).flatMap(({ rung, probe }) =>
    probe.available && rung !== 'simulated' && probe.capabilities.snapshots && templateFor(probe) === 'host'
      ? [rung]
      : [],
  )
})()

/** Bytes of random content, as many of them as there is room for. */
const fill = (name: string, bytes = 2 * LIMIT): string => `head -c ${bytes} /dev/urandom > /tmp/${name}; sync; true`

describe.skipIf(!root).each(rungs)('the disk limit of a sandbox that sleeps, on %s', (rung) => {
  let hearth: Hearth
  let store: string

  const begin = async (btrfs: boolean): Promise<void> => {
    const home = mkdtempSync(join(tmpdir(), 'hearth-limit-'))
    hearth = new Hearth({ home, spareKeepers: 0 })
    store = hearth.paths.store
    if (btrfs) await ensureStore(hearth.paths, { ...process.env, HEARTH_STORE_SIZE: '512M' })
  }
  afterEach(async () => {
    await hearth.dispose()
    await removeStore(hearth.paths)
    rmSync(hearth.paths.home, { recursive: true, force: true })
  }, 60_000)

  const create = (): Promise<EmbeddedSandbox> => hearth.create({ rung, template: 'host', limits: { diskBytes: LIMIT } })

  const asleepAndAwake = async (
    sandbox: EmbeddedSandbox,
    memory: 'auto' | 'none' = 'none',
  ): Promise<EmbeddedSandbox> => {
    await sandbox.hibernate({ memory })
    return await hearth.wake(sandbox.id)
  }

  describe('on btrfs', () => {
    beforeEach(() => begin(true))

    const used = (): number => {
      execFileSync('sync', ['-f', store])
      const { blocks, bfree, bsize } = statfsSync(store)
      return (blocks - bfree) * bsize
    }
    const groups = (): string[] => execFileSync('btrfs', ['qgroup', 'show', store], { encoding: 'utf8' }).split('\n')

    test('holds whatever is written between sleeps, and gives back what is removed', { timeout: 180_000 }, async () => {
      const before = used()
      let sandbox = await create()
      for (let round = 0; round < ROUNDS; round++) {
        await sandbox.exec(fill(`round-${round}`))
        sandbox = await asleepAndAwake(sandbox, round % 2 === 0 ? 'none' : 'auto')
        expect(used() - before, `after round ${round}`).toBeLessThan(LIMIT + SLACK)
      }
      expect((await sandbox.stats()).diskUsedBytes).toBeGreaterThan(LIMIT - MiB)
      await sandbox.exec('rm /tmp/round-*; sync')
      await expect
        .poll(async () => (await sandbox.exec(`head -c ${LIMIT / 2} /dev/zero > /tmp/next`)).exitCode, {
          timeout: 20_000,
        })
        .toBe(0)
      await sandbox.kill()
    })

    test(
      'counts what its snapshot holds of the time before it slept, and its fork has a limit of its own',
      {
        timeout: 180_000,
      },
      async () => {
        const before = used()
        let sandbox = await create()
        await sandbox.exec(fill('first', LIMIT / 2))
        sandbox = await asleepAndAwake(sandbox)
        // What it wrote before it slept is not lost to whoever counts what snapshots hold.
        const { id, diskBytes } = await sandbox.snapshot({ memory: 'none' })
        expect(diskBytes).toBeGreaterThan(LIMIT / 2 - MiB)
        await sandbox.exec('rm /tmp/first')
        await sandbox.exec(fill('second'))
        expect(used() - before).toBeLessThan(LIMIT + SLACK)
        const { children } = await sandbox.fork(1, { memory: 'none' })
        for (const child of children) {
          await child.exec(fill('third'))
          expect(used() - before).toBeGreaterThan(2 * LIMIT - SLACK)
          expect(used() - before).toBeLessThan(2 * LIMIT + SLACK)
          await child.kill()
        }
        await sandbox.kill()
        await hearth.snapshots.remove(id)
      },
    )

    test(
      'leaves nothing in the quotas when it is gone, also when it sleeps or its engine was killed',
      {
        timeout: 180_000,
      },
      async () => {
        await (await create()).kill()
        const before = await settled()
        let awake = await create()
        for (let round = 0; round < ROUNDS; round++) {
          await awake.exec(fill(`round-${round}`, MiB))
          await awake.snapshot({ name: `round-${round}`, memory: 'none' })
          awake = await asleepAndAwake(awake)
        }
        expect(list(groupsOf(store))).toEqual([awake.id])
        await awake.kill()
        expect(list(groupsOf(store))).toEqual([])
        expect(groups().filter((line) => line.startsWith('1/'))).toEqual([])
        const asleep = await asleepAndAwake(await create())
        await asleep.hibernate({ memory: 'none' })
        await hearth.discard(asleep.id)
        // As a crash leaves it: its directory is gone, or its group was just about to be made.
        const lost = await asleepAndAwake(await create())
        const group = groups().filter((line) => line.startsWith('1/'))
        const note = readdirSync(groupsOf(store)).map((name) => [join(groupsOf(store), name), lost.id] as const)
        await lost.kill()
        for (const [path] of note) writeFileSync(path, '')
        execFileSync('btrfs', ['qgroup', 'create', group[0]?.split(' ')[0] ?? '', store])
        for (const { id } of await hearth.snapshots.list()) await hearth.snapshots.remove(id)
        expect(await settled()).toBe(before)
        expect(list(groupsOf(store))).toEqual([])
      },
    )

    /** How many groups there are once btrfs has given back what was removed. */
    const settled = async (): Promise<number> => {
      for (let round = 0; round < 5; round++) {
        execFileSync(hearth.paths.guest, ['store', 'reclaim', store])
        await sleep(200)
        await hearth.sweep({ graceMs: 0 })
      }
      return groups().length
    }
  })

  test('holds on a store of layers too', { timeout: 180_000 }, async () => {
    await begin(false)
    const held = (): number => Number(execFileSync('du', ['--bytes', '--summarize', store]).toString().split('\t')[0])
    let sandbox = await create()
    for (let round = 0; round < ROUNDS; round++) {
      await sandbox.exec(fill(`round-${round}`))
      await sandbox.hibernate({ memory: 'none' })
      expect(held(), `after round ${round}`).toBeLessThan(LIMIT + MiB)
      expect(list(join(store, 'snapshots'))).toHaveLength(1)
      sandbox = await hearth.wake(sandbox.id)
    }
    expect((await sandbox.exec('stat -c %s /tmp/round-0; ls /tmp | grep -c round')).stdout).toMatch(
      new RegExp(`^1[56]\\d{6}\\n${ROUNDS}\\n$`),
    )
    await sandbox.exec('rm /tmp/round-*')
    sandbox = await asleepAndAwake(sandbox)
    const { exitCode } = await sandbox.exec(`head -c ${LIMIT / 2} /dev/zero > /tmp/next`)
    expect(exitCode).toBe(0)
    expect((await sandbox.exec('ls /tmp')).stdout).toBe('next\n')
    await sandbox.kill()
    await hearth.sweep({ graceMs: 0 })
    expect(list(join(store, 'snapshots'))).toEqual([])
  })
})

function groupsOf(store: string): string {
  return join(store, 'groups')
}
