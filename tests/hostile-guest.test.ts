import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hostPaths, Hearth } from '@hearth/engine'
import { eventually, expectRefusal } from '@hearth/testing'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { AT_COMMAND, AT_CREATE, compileHostileGuest, DETACHED_CHILDREN, OVERRUN } from './hostile-guest/behaviours.ts'
import { eventuallyEqual, takeInventory, type Inventory } from './support/inventory.ts'

const home = mkdtempSync(join(tmpdir(), 'hearth-hostile-'))
const binaries = mkdtempSync(join(tmpdir(), 'hearth-hostile-guests-'))
// What runs under the ids of a sandbox must be able to pass through.
chmodSync(binaries, 0o755)
const realGuest = hostPaths().guest
const spec = { rung: 'process', template: 'host' } as const

async function hearthWith(behaviour: number): Promise<Hearth> {
  const guest = compileHostileGuest(binaries, behaviour, realGuest)
  return new Hearth({ home, guest, spareKeepers: 0 })
}

describe('a guest that lies', () => {
  let before: Inventory

  beforeEach(async () => {
    // One honest sandbox first, so that what stays open for good is open before counting.
    const honest = new Hearth({ home, spareKeepers: 0 })
    await (await honest.create(spec)).kill()
    await honest.dispose()
    await eventually('the honest one is gone', () => takeInventory(home).processes.length === 0)
    before = takeInventory(home)
  })

  afterEach(async () => {
    await eventuallyEqual(() => takeInventory(home), before)
  })

  for (const [name, behaviour] of Object.entries(AT_CREATE)) {
    test(`it ${name}: the create fails with a reason`, { timeout: 30_000 }, async () => {
      await using hearth = await hearthWith(behaviour.number)
      const memory = process.memoryUsage().rss
      const error = await expectRefusal(hearth.create(spec, { signal: AbortSignal.timeout(3000) }), ...behaviour.codes)
      expect(error.message.length).toBeGreaterThan(10)
      expect(process.memoryUsage().rss - memory).toBeLessThan(200 * 1024 * 1024)
    })
  }

  for (const [name, behaviour] of Object.entries(AT_COMMAND)) {
    test(`it ${name}: the command fails and the sandbox is ended`, { timeout: 30_000 }, async () => {
      await using hearth = await hearthWith(behaviour.number)
      const sandbox = await hearth.create(spec)
      const error = await expectRefusal(
        sandbox.exec('true', { signal: AbortSignal.timeout(10_000) }),
        ...behaviour.codes,
      )
      expect(error.message.length).toBeGreaterThan(10)
      await eventually('the sandbox is ended', () => sandbox.info.state === 'ended')
      await expectRefusal(sandbox.exec('true'), 'sandbox_ended')
      await sandbox.kill()
    })
  }

  test('it sends more than was granted: the sandbox is ended', { timeout: 30_000 }, async () => {
    await using hearth = await hearthWith(OVERRUN)
    const sandbox = await hearth.create(spec)
    const process = await sandbox.spawn('true')
    await eventually('the sandbox is ended', () => sandbox.info.state === 'ended')
    await expectRefusal(process.wait(), 'protocol_violation', 'sandbox_ended')
  })

  test('it has children that ignore everything: kill ends them all', { timeout: 30_000 }, async () => {
    await using hearth = await hearthWith(DETACHED_CHILDREN)
    const sandbox = await hearth.create(spec)
    expect(takeInventory(home).processes.length).toBeGreaterThan(before.processes.length + 20)
    await expectRefusal(sandbox.exec('true', { signal: AbortSignal.timeout(500) }), 'aborted')
    await sandbox.kill()
  })

  test('the host goes on with honest sandboxes beside it', { timeout: 30_000 }, async () => {
    await using honest = new Hearth({ home, spareKeepers: 0 })
    await using good = await honest.create(spec)
    await using hearth = await hearthWith(AT_COMMAND['sends a payload too short for its fields']?.number ?? 0)
    const bad = await hearth.create(spec)
    const [failure, result] = await Promise.all([
      bad.exec('true').catch((error: unknown) => error),
      good.exec('echo fine'),
    ])
    expect(failure).toMatchObject({ code: 'protocol_violation' })
    expect(result.stdout).toBe('fine\n')
  })
})

afterAll(() => {
  rmSync(home, { recursive: true, force: true })
  rmSync(binaries, { recursive: true, force: true })
})
