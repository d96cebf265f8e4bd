import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError, RUNGS, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { eventually, expectRefusal } from '@hearth/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventuallyEqual, takeInventory, type Inventory } from './support/inventory.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-crashes-'))
const hearth = new Hearth({ home, spareKeepers: 0 })
const available = (await hearth.rungs()).filter(
  (report) => report.probe.available && report.probe.capabilities.hostTemplate,
)
const wanted = process.env['HEARTH_RUNGS']?.split(',')
const rungs = RUNGS.filter((rung) => rung !== 'simulated' && available.some((report) => report.rung === rung)).filter(
  (rung) => wanted === undefined || wanted.includes(rung),
)

function keeperOf(sandbox: Sandbox): number {
  return Number.parseInt(readFileSync(join(home, 'sandboxes', sandbox.id, 'keeper.pid'), 'utf8'), 10)
}

/** Everything below a process, itself not included. */
function descendants(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return children.flatMap((child) => [child, ...descendants(child)])
}

for (const rung of rungs) {
  describe(`what is killed without warning on ${rung}`, () => {
    let before: Inventory

    beforeAll(async () => {
      await (await hearth.create({ rung, template: 'host' })).kill()
      // One that is ending has no command line any more.
      await eventually('nothing is ending', () => !takeInventory(home).processes.includes(''))
      before = takeInventory(home)
    })

    test('the keeper: the sandbox ends, typed, and leaves nothing', async () => {
      const sandbox = await hearth.create({ rung, template: 'host' })
      const running = sandbox.exec('sleep 100').catch((error: unknown) => error)
      await sandbox.exec('true')
      process.kill(keeperOf(sandbox), 'SIGKILL')
      const failure = await running
      expect(HearthError.isInstance(failure) && failure.code).toMatch(/^(sandbox_ended|link_lost)$/)
      await expectRefusal(sandbox.exec('true'), 'sandbox_ended', 'link_lost')
      await sandbox.kill()
      await eventuallyEqual(() => takeInventory(home), before)
    })

    test('all of the runtime: the sandbox ends, typed, and leaves nothing', async () => {
      const sandbox = await hearth.create({ rung, template: 'host' })
      const running = sandbox.exec('sleep 100').catch((error: unknown) => error)
      await sandbox.exec('true')
      for (const pid of descendants(keeperOf(sandbox))) kill(pid)
      expect(await running).toMatchObject({ code: expect.stringMatching(/^(sandbox_ended|link_lost)$/) as unknown })
      await sandbox.kill()
      await eventuallyEqual(() => takeInventory(home), before)
    })

    test('a create that is given up leaves nothing', async () => {
      for (const delay of [0, 1, 5, 20, 80]) {
        const creating = hearth.create({ rung, template: 'host' }, { signal: AbortSignal.timeout(delay) })
        const outcome = await creating.then(
          async (sandbox) => await sandbox.kill(),
          (error: unknown) => error,
        )
        if (outcome !== undefined) expect(outcome).toMatchObject({ code: 'aborted' })
      }
      await eventuallyEqual(() => takeInventory(home), before)
    })
  })
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    // It has ended with its parent.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

test('two homes side by side know nothing of each other', { timeout: 60_000 }, async () => {
  const other = mkdtempSync(join(tmpdir(), 'hearth-other-home-'))
  try {
    await using second = new Hearth({ home: other, spareKeepers: 0 })
    await using here = await hearth.create({ rung: 'process', template: 'host' })
    await using there = await second.create({ rung: 'process', template: 'host' })
    expect((await hearth.list()).map((info) => info.id)).toEqual([here.id])
    expect((await second.list()).map((info) => info.id)).toEqual([there.id])
    await expectRefusal(second.adopt(here.id), 'sandbox_not_found')
    await second.dispose()
    expect(await here.exec('echo alive')).toMatchObject({ stdout: 'alive\n' })
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

test('a home on a full disk gives typed errors and recovers', { timeout: 60_000 }, async (context) => {
  if (process.getuid?.() !== 0) context.skip('mounting a small file system needs root')
  const small = mkdtempSync(join(tmpdir(), 'hearth-full-home-'))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small])
  try {
    await using full = new Hearth({ home: join(small, 'home'), spareKeepers: 0 })
    mkdirSync(join(small, 'home'))
    await full.rungs()
    execFileSync('sh', ['-c', `head -c 10000000 /dev/zero > ${small}/filler 2>/dev/null || true`])
    const outcome = await full.create({ rung: 'process', template: 'host' }).then(
      async (sandbox) => await sandbox.kill(),
      (error: unknown) => error,
    )
    expect(HearthError.isInstance(outcome), String(outcome)).toBe(true)
    rmSync(`${small}/filler`)
    await using sandbox = await full.create({ rung: 'process', template: 'host' })
    expect(await sandbox.exec('echo recovered')).toMatchObject({ stdout: 'recovered\n' })
  } finally {
    execFileSync('umount', ['-l', small])
    rmSync(small, { recursive: true, force: true })
  }
})

afterAll(async () => {
  await hearth.dispose()
  rmSync(home, { recursive: true, force: true })
})
