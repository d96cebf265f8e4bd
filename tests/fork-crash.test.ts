import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collectGarbage, Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder } from './support/ladder.ts'
import { list, makeSmallStore, removeSmallStore } from './support/small-store.ts'
import { Victim } from './support/victim.ts'

const CHILDREN = 3
const root = process.getuid?.() === 0

/** What can be seen of a capture and of a fork from outside, in the order in which it appears. */
const MOMENTS: Readonly<Record<string, (home: string, parent: string) => boolean>> = {
  'the snapshot is begun': (home) => snapshots(home).some((path) => existsSync(`${path}/draft`)),
  'its files are there': (home) => snapshots(home).some((path) => existsSync(`${path}/disk`)),
  'a child runs': (home, parent) =>
    list(`${home}/sandboxes`).some((id) => id !== parent && existsSync(`${home}/sandboxes/${id}/keeper.pid`)),
  'all children run': (home) =>
    list(`${home}/sandboxes`).filter((id) => existsSync(`${home}/sandboxes/${id}/keeper.pid`)).length > CHILDREN,
  'the snapshot is whole': (home) => snapshots(home).some((path) => existsSync(`${path}/manifest.json`)),
}

function snapshots(home: string): string[] {
  return list(`${home}/store/snapshots`).map((id) => join(home, 'store/snapshots', id))
}

const available = await (async () => {
  await using hearth = new Hearth({ spareKeepers: 0 })
  return (await ladder(hearth)).flatMap(({ rung, probe }) =>
    probe.available && probe.capabilities.snapshots && probe.capabilities.reconnect && probe.capabilities.hostTemplate
      ? [rung]
      : [],
  )
})()

/** What a crash leaves does not depend on the rung: the weakest is the fastest. */
describe.skipIf(!root).each(available.slice(0, 1))('kill -9 of the engine on %s', (rung) => {
  const home = mkdtempSync(join(tmpdir(), 'hearth-fork-crash-'))

  beforeAll(async () => await makeSmallStore(home, rung), 60_000)
  afterAll(async () => await removeSmallStore(home), 60_000)

  test.each(Object.entries(MOMENTS))('in a fork, when %s: no half children, no lost parent', async (_name, seen) => {
    const victim = new Victim(home, rung, 'fork')
    const parent = await victim.line()
    await victim.killAt(() => seen(home, parent))
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    await hearth.sweep({ graceMs: 0 })
    const left = await hearth.list()
    const children = left.filter((info) => info.parent === parent)
    expect([0, CHILDREN]).toContain(children.length)
    expect(left.length).toBe(children.length + 1)
    expect(snapshots(home).length).toBe(children.length === 0 ? 0 : 1)
    await using adopted = await hearth.adopt(parent)
    expect((await adopted.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    for (const info of children) {
      await using child = await hearth.adopt(info.id)
      expect((await child.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    }
    expect(snapshots(home)).toEqual([])
    await adopted.kill()
    expect(list(`${home}/store/areas`)).toEqual([])
    expect(list(`${home}/sandboxes`)).toEqual([])
  })

  test('in a snapshot: there is a whole one or none', async () => {
    for (const moment of Object.values(MOMENTS).slice(0, 2)) {
      const victim = new Victim(home, rung, 'snapshot')
      const parent = await victim.line()
      await victim.killAt(() => moment(home, parent))
      await using hearth = new Hearth({ home, spareKeepers: 0 })
      await hearth.sweep({ graceMs: 0 })
      const whole = await hearth.snapshots.list()
      expect(snapshots(home).length).toBe(whole.length)
      if (whole.length > 0) {
        await using made = await hearth.create({ from: 'victim' })
        expect((await made.exec('cat /tmp/kept')).stdout).toBe('kept\n')
        await made.kill()
        await hearth.snapshots.remove('victim')
      }
      await using adopted = await hearth.adopt(parent)
      expect((await adopted.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    }
  })
  test('while it collects garbage: the rest goes with the next round, and what is in use stays', async () => {
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    await using kept = await hearth.create({ rung, template: 'host' })
    await kept.exec('echo kept > /tmp/kept')
    const { id } = await kept.snapshot({ name: 'stays' })
    const left = (): string[] => snapshots(home).filter((path) => !path.endsWith(id))
    for (const gone of [0, 1, 2]) {
      // Two captures that nobody finishes.
      for (const _ of [1, 2]) {
        const maker = new Victim(home, rung, 'snapshot')
        await maker.line()
        await maker.killAt(() => left().some((path) => existsSync(`${path}/disk`)))
        // One that was quicker has a name, and is no garbage.
        if ((await hearth.snapshots.list()).length > 1) await hearth.snapshots.remove('victim')
      }
      const garbage = left().length
      const victim = new Victim(home, rung, 'gc')
      await victim.line()
      await victim.killAt(() => left().length <= garbage - gone)
      await using copy = await hearth.create({ from: 'stays' })
      expect((await copy.exec('cat /tmp/kept')).stdout).toBe('kept\n')
      expect((await kept.exec('cat /tmp/kept')).stdout).toBe('kept\n')
    }
    for (const info of await hearth.list()) if (info.id !== kept.id) await (await hearth.adopt(info.id)).kill()
    await collectGarbage(hearth)
    expect(left()).toEqual([])
    await hearth.snapshots.remove('stays')
    await kept.kill()
    await hearth.sweep({ graceMs: 0 })
    expect([list(`${home}/store/areas`), list(`${home}/sandboxes`)]).toEqual([[], []])
  })
})
