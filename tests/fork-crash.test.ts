import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSandboxId, type Sandbox } from '@hearth/contract'
import { collectGarbage, Hearth } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'
import { list, makeSmallStore, removeSmallStore } from './support/small-store.ts'
import { untilMet, Victim } from './support/victim.ts'

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
    probe.available && probe.capabilities.snapshots && probe.capabilities.reconnect
      ? [{ rung, template: templateFor(probe), memory: probe.capabilities.memory }]
      : [],
  )
})()
/** What a crash leaves does not depend on the rung where files alone are copied: the weakest is the fastest. With memory there is more to leave. */
const rungs = available.filter(({ memory }, index) => memory || index === 0)

describe.skipIf(!root).each(rungs)('kill -9 of the engine on $rung', (step) => {
  const home = mkdtempSync(join(tmpdir(), 'hearth-fork-crash-'))
  const moments = Object.entries(MOMENTS).filter(
    ([name]) => !step.memory || name === 'a child runs' || name === 'all children run',
  )

  beforeAll(async () => await makeSmallStore(home, step), 180_000)
  afterAll(async () => await removeSmallStore(home), 60_000)

  const isWhole = async (sandbox: Sandbox): Promise<void> => {
    expect((await sandbox.exec('cat /tmp/kept')).stdout).toBe('kept\n')
  }

  test.each(moments)(
    'in a fork, when %s: no half children, no lost parent',
    { timeout: 180_000 },
    async (name, seen) => {
      await untilMet(name, async () => {
        const victim = new Victim(home, step, 'fork')
        const parent = await victim.line()
        const met = await victim.killAt(() => seen(home, parent))
        await using hearth = new Hearth({ home, spareKeepers: 0 })
        await hearth.sweep({ graceMs: 0 })
        const left = await hearth.list()
        const children = left.filter((info) => info.parent === parent)
        expect([0, CHILDREN]).toContain(children.length)
        expect(left.length).toBe(children.length + 1)
        expect(snapshots(home).length).toBe(children.length === 0 ? 0 : 1)
        await using adopted = await hearth.adopt(parent)
        await isWhole(adopted)
        for (const info of children) {
          await using child = await hearth.adopt(info.id)
          await isWhole(child)
        }
        expect(snapshots(home)).toEqual([])
        await adopted.kill()
        expect(list(`${home}/store/areas`)).toEqual([])
        expect(list(`${home}/sandboxes`)).toEqual([])
        return met
      })
    },
  )

  test(
    'in a create from a snapshot, when its machine runs: it is there or gone, and the snapshot stays',
    { timeout: 180_000 },
    async () => {
      await untilMet('its machine runs', async () => {
        const victim = new Victim(home, step, 'restore')
        const parent = await victim.line()
        const mine = (): string[] => list(`${home}/sandboxes`).filter((id) => id !== parent)
        const before = mine()
        const met = await victim.killAt(() =>
          mine().some((id) => !before.includes(id) && existsSync(`${home}/sandboxes/${id}/keeper.pid`)),
        )
        await using hearth = new Hearth({ home, spareKeepers: 0 })
        await hearth.sweep({ graceMs: 0 })
        for (const info of await hearth.list()) {
          await using sandbox = await hearth.adopt(info.id)
          await isWhole(sandbox)
        }
        await using again = await hearth.create({ from: 'victim' })
        await isWhole(again)
        await again.kill()
        await hearth.snapshots.remove('victim')
        expect([list(`${home}/sandboxes`), list(`${home}/store/areas`), snapshots(home)]).toEqual([[], [], []])
        return met
      })
    },
  )

  test.skipIf(step.memory)('in a snapshot: there is a whole one or none', { timeout: 60_000 }, async () => {
    for (const [name, moment] of Object.entries(MOMENTS).slice(0, 2)) {
      await untilMet(name, async () => {
        const victim = new Victim(home, step, 'snapshot')
        const parent = await victim.line()
        const met = await victim.killAt(() => moment(home, parent))
        await using hearth = new Hearth({ home, spareKeepers: 0 })
        await hearth.sweep({ graceMs: 0 })
        const whole = await hearth.snapshots.list()
        expect(snapshots(home).length).toBe(whole.length)
        if (whole.length > 0) {
          await using made = await hearth.create({ from: 'victim' })
          await isWhole(made)
          await made.kill()
          await hearth.snapshots.remove('victim')
        }
        await using adopted = await hearth.adopt(parent)
        await isWhole(adopted)
        return met
      })
    }
  })

  test.skipIf(step.memory)(
    'while it collects garbage: the rest goes with the next round, and what is in use stays',
    async () => {
      const base = { rung: step.rung, template: step.template }
      await using hearth = new Hearth({ home, spareKeepers: 0 })
      await using kept = await hearth.create(base)
      await kept.exec('echo kept > /tmp/kept')
      const { id } = await kept.snapshot({ name: 'stays' })
      const left = (): string[] => snapshots(home).filter((path) => !path.endsWith(id))
      for (const gone of [0, 1, 2]) {
        // Two captures that nobody finishes.
        for (const _ of [1, 2]) {
          const maker = new Victim(home, step, 'snapshot')
          await maker.line()
          await maker.killAt(() => left().some((path) => existsSync(`${path}/disk`)))
          // One that was quicker has a name, and is no garbage.
          if ((await hearth.snapshots.list()).length > 1) await hearth.snapshots.remove('victim')
        }
        const garbage = left().length
        const victim = new Victim(home, step, 'gc')
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
    },
  )

  /** Much of everything that nobody has, each so large that it does not go in a moment. */
  const pileUp = (pile: string, names: readonly string[]): void => {
    for (const name of names) {
      for (let directory = 0; directory < 10; directory++) {
        const path = join(home, pile, name, String(directory))
        mkdirSync(path, { recursive: true })
        for (let file = 0; file < 100; file++) writeFileSync(join(path, String(file)), '')
      }
      // As if its maker had died long ago.
      utimesSync(join(home, pile, name), 0, 0)
    }
  }

  const PILES: readonly (readonly [pile: string, name: () => string])[] = [
    ['store/areas', newSandboxId],
    ['templates/roots', () => `sha256-${randomBytes(32).toString('hex')}`],
    ['store/baked', () => randomBytes(8).toString('hex')],
  ]

  test.skipIf(step.memory).each(PILES)('while it collects garbage in %s', { timeout: 60_000 }, async (pile) => {
    const sizes = (): number[] => PILES.map(([each]) => list(join(home, each)).length)
    const before = sizes()
    await untilMet(`something in ${pile} is being removed`, async () => {
      await using hearth = new Hearth({ home, spareKeepers: 0 })
      await using kept = await hearth.create({ rung: step.rung, template: step.template })
      await kept.exec('echo kept > /tmp/kept')
      const victim = new Victim(home, step, 'gc')
      const other = await victim.line()
      // Its engine has swept already when it was started.
      for (const [each, name] of PILES) pileUp(each, [name(), name(), name()])
      const full = list(join(home, pile)).length
      const met = await victim.killAt(() => list(join(home, pile)).length < full)
      await isWhole(kept)
      await (await hearth.adopt(other)).kill()
      await collectGarbage(hearth)
      await isWhole(kept)
      await kept.kill()
      expect(sizes()).toEqual(before)
      return met
    })
  })
})
