import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Hearth } from '@hearth/engine'
import { expectRefusal } from '@hearth/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'
import { list, makeSmallStore, removeSmallStore } from './support/small-store.ts'
import { untilMet, Victim } from './support/victim.ts'

const root = process.getuid?.() === 0

/** What can be seen of a hibernation and of a wake from outside, in the order in which it appears. */
const MOMENTS: Readonly<
  Record<'hibernate' | 'wake', Readonly<Record<string, (directory: string, home: string) => boolean>>>
> = {
  hibernate: {
    'its group of quotas is noted': (_directory, home) => list(`${home}/store/groups`).length > 0,
    'it is paused': (directory) => existsSync(`${directory}/paused`),
    'its snapshot is whole': (_directory, home) =>
      snapshotsIn(home).some((path) => existsSync(`${path}/manifest.json`)),
    'its record says so': (directory) => stateIn(directory) === 'hibernated',
  },
  wake: {
    'its machine is begun': (directory) => existsSync(`${directory}/resources.json`),
    'its machine runs': (directory) => existsSync(`${directory}/keeper.pid`),
    'its record says so': (directory) => stateIn(directory) === 'running',
  },
}

function snapshotsIn(home: string): string[] {
  return list(`${home}/store/snapshots`).map((id) => join(home, 'store/snapshots', id))
}

/** Null in the moment in which it is written anew. */
function stateIn(directory: string): string | null {
  try {
    return (JSON.parse(readFileSync(`${directory}/sandbox.json`, 'utf8')) as { info: { state: string } }).info.state
  } catch {
    return null
  }
}

const rungs = await (async () => {
  await using hearth = new Hearth({ spareKeepers: 0 })
  return (await ladder(hearth)).flatMap(({ rung, probe }) =>
    probe.available && probe.capabilities.snapshots && (rung === 'process' || probe.capabilities.memory)
      ? [{ rung, template: templateFor(probe), memory: probe.capabilities.memory }]
      : [],
  )
})()

/** Where files alone sleep, what a crash leaves does not depend on the rung: the weakest is the fastest. */
describe.skipIf(!root).each(rungs)('a sandbox that sleeps, on $rung', (step) => {
  const { rung, template } = step
  const home = mkdtempSync(join(tmpdir(), 'hearth-sleep-crash-'))
  const snapshots = (): string[] => snapshotsIn(home)
  beforeAll(async () => await makeSmallStore(home, step), 180_000)
  afterAll(async () => await removeSmallStore(home), 60_000)

  const nothingLeft = async (hearth: Hearth): Promise<void> => {
    await hearth.sweep({ graceMs: 0 })
    const left = ['sandboxes', 'store/snapshots', 'store/areas', 'store/groups', 'ids']
    expect(left.flatMap((name) => list(join(home, name)).map((entry) => `${name}/${entry}`))).toEqual([])
    const quotas = execFileSync('btrfs', ['qgroup', 'show', join(home, 'store')], { encoding: 'utf8' })
    expect(quotas.split('\n').filter((line) => line.startsWith('1/'))).toEqual([])
  }

  for (const what of ['hibernate', 'wake'] as const) {
    // The capture of memory is killed in `capture-crash.test.ts`.
    const moments = Object.entries(MOMENTS[what]).filter(() => !step.memory || what === 'wake')
    test.each(moments)(`survives kill -9 of a ${what}, when %s`, { timeout: 180_000 }, async (name, seen) => {
      await untilMet(name, async () => {
        const victim = new Victim(home, step, what)
        const id = await victim.line()
        const directory = join(home, 'sandboxes', id)
        const met = await victim.killAt(() => seen(directory, home))
        await expectOneOfBoth(id)
        // What the engine that woke it has made ahead ended with that one.
        await using next = new Hearth({ home, spareKeepers: 0 })
        await nothingLeft(next)
        return met
      })
    })
  }

  /** Whole: it runs, or it sleeps and holds its record alone. */
  const expectOneOfBoth = async (id: string): Promise<void> => {
    const directory = join(home, 'sandboxes', id)
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    await hearth.sweep({ graceMs: 0 })
    const [found] = await hearth.survey()
    expect(found?.id).toBe(id)
    expect(found?.alive).toBe(found?.sleep === null)
    if (found?.alive === true) await expectRefusal(hearth.wake(id), 'invalid_state')
    else {
      expect([list(directory), list(`${home}/store/areas`)]).toEqual([['sandbox.json'], []])
      await expectRefusal(hearth.adopt(id), 'sandbox_hibernated')
    }
    await using sandbox = found?.alive === true ? await hearth.adopt(id) : await hearth.wake(id)
    await hearth.sweep({ graceMs: 0 })
    expect(snapshots()).toEqual([])
    expect((await sandbox.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    await sandbox.kill()
  }

  test.skipIf(step.memory)(
    'is there after a reboot, and neither gc nor anybody else takes what it sleeps in',
    async () => {
      let id: string
      {
        await using hearth = new Hearth({ home, spareKeepers: 0 })
        const base = await hearth.create({ rung, template })
        await base.exec('echo kept >/tmp/kept')
        const { children } = await base.fork(1)
        const [sandbox] = children
        if (sandbox === undefined) throw new Error('there is no child')
        ;({ id } = sandbox)
        await sandbox.hibernate()
        await base.kill()
        // The point of the fork, and what it sleeps in.
        expect(snapshots().length).toBe(2)
        for (const path of snapshots())
          await expectRefusal(hearth.snapshots.remove(path.slice(path.lastIndexOf('/') + 1)), 'snapshot_in_use')
        expect(await hearth.snapshots.list()).toEqual([])
        await expectRefusal(hearth.removeTemplate('host'), 'template_in_use')
      }
      // As after a reboot the store is not mounted, and nobody holds anything.
      execFileSync('umount', [`${home}/store`])
      await using hearth = new Hearth({ home, spareKeepers: 0 })
      await hearth.sweep({ graceMs: 0 })
      expect(snapshots().length).toBe(2)
      await using woken = await hearth.wake(id)
      expect((await hearth.list()).map((info) => [info.id, info.state])).toEqual([[id, 'running']])
      expect((await woken.exec('cat /tmp/kept')).stdout).toBe('kept\n')
      await woken.kill()
      await nothingLeft(hearth)
    },
  )

  test.skipIf(step.memory)('is woken once, and ends at its deadline', async () => {
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    const sandbox = await hearth.create({ rung, template })
    await sandbox.hibernate()
    const [one, other] = await Promise.all([hearth.wake(sandbox.id), hearth.wake(sandbox.id)])
    expect(one).toBe(other)
    // The handle of an earlier life ends nothing.
    await sandbox.kill()
    expect((await one.exec('echo alive')).stdout).toBe('alive\n')
    await one.hibernate()
    await hearth.expireAt(sandbox.id, new Date(Date.now() + 60_000))
    // Somebody who was waking it died with its files in place.
    mkdirSync(`${home}/store/areas/${sandbox.id}`)
    await hearth.sweep({ graceMs: 0 })
    expect(list(`${home}/store/areas`)).toEqual([])
    expect((await hearth.list()).length).toBe(1)
    await hearth.expireAt(sandbox.id, new Date(Date.now() + 300))
    await sleep(400)
    await nothingLeft(hearth)
    await expectRefusal(hearth.wake(sandbox.id), 'sandbox_not_found')
  })
})
