import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { describeFork, expectRefusal } from '@hearth/testing'
import { afterAll, describe, expect, test } from 'vitest'
import { SnapshotStore } from '../packages/engine/src/store/snapshot-store.ts'
import { ladder, templateFor } from './support/ladder.ts'

const hearth = new Hearth()
const steps = await ladder(hearth)

for (const { rung, probe } of steps) {
  const able = probe.available && probe.capabilities.snapshots && probe.capabilities.reconnect
  describe.skipIf(!able)(`copies of ${rung} in the engine`, () => {
    const spec = { rung, template: templateFor(probe), env: { KEPT: 'kept' } }

    test('of a paused sandbox, which stays paused', async () => {
      await using parent = await hearth.create(spec)
      const running = await parent.spawn('echo begun; cat; echo ended', { stdin: 'pipe' })
      await parent.exec('echo file > /tmp/file')
      await parent.pause()
      const taken = await parent.snapshot()
      const { children } = await parent.fork(1)
      expect(parent.paused).toBe(true)
      await expectRefusal(parent.exec('true'), 'sandbox_paused')
      for (const child of [...children, await hearth.create({ from: taken.id })]) {
        expect((await child.exec('cat /tmp/file; echo $KEPT')).stdout).toBe('file\nkept\n')
        await child.kill()
      }
      await parent.resume()
      await running.closeStdin()
      expect(await running.wait()).toMatchObject({ exitCode: 0 })
      await hearth.snapshots.remove(taken.id)
    })

    test('of one that cannot fall asleep after all, which goes on', async () => {
      await using parent = await hearth.create(spec)
      const running = await parent.spawn('echo begun; cat; echo ended', { stdin: 'pipe' })
      const store = new SnapshotStore(hearth.paths)
      const id = newSnapshotId()
      const { directory } = await store.draft(id)
      const asleep = parent.sleep(async (capture) => {
        await capture(directory, 'auto')
        throw new Error('the record cannot be written')
      })
      await expect(asleep).rejects.toThrow('the record cannot be written')
      await store.discard(id)
      expect([parent.paused, parent.info.state]).toEqual([false, 'running'])
      expect((await parent.exec('echo alive')).stdout).toBe('alive\n')
      await running.closeStdin()
      expect(await running.wait()).toMatchObject({ exitCode: 0 })
      await hearth.snapshots.remove((await parent.snapshot()).id)
    })

    test('of a sandbox that another engine made', async () => {
      const made = await hearth.create({ ...spec, metadata: { made: 'elsewhere' } })
      await made.exec('echo file > /tmp/file')
      await made.release()
      await using parent = await hearth.adopt(made.id)
      const { children } = await parent.fork(1, { env: { ADDED: 'added' } })
      for (const child of children) {
        expect((await child.exec('cat /tmp/file; echo $KEPT $ADDED')).stdout).toBe('file\nkept added\n')
        expect(child.info).toMatchObject({ parent: made.id, metadata: { made: 'elsewhere' } })
        await child.kill()
      }
    })

    test('with identifiers of their own, or none when one is taken', async () => {
      await using parent = await hearth.create(spec)
      const ids = [newSandboxId(), newSandboxId()]
      const { children } = await parent.fork(2, { ids })
      expect(children.map((child) => child.id)).toEqual(ids)
      await Promise.all(children.map((child) => child.kill()))
      await expectRefusal(parent.fork(2, { ids: [newSandboxId(), parent.id] }), 'launch_failed')
      expect((await hearth.list()).filter((info) => info.parent === parent.id)).toEqual([])
      expect((await parent.exec('echo alive')).stdout).toBe('alive\n')
    })
  })
}

/** Without a disk store areas are in memory, and a capture copies what changed. What needs a template of its own would have to make it here. */
const plain = mkdtempSync(join(tmpdir(), 'hearth-fork-plain-'))
const plainHearth = new Hearth({ home: plain })
for (const { rung, probe } of steps) {
  if (!probe.available || !probe.capabilities.reconnect || !probe.capabilities.hostTemplate) continue
  describeFork({
    name: `${rung} on a plain directory`,
    create: async (spec = {}) => await plainHearth.create(spec.from === undefined ? { rung, ...spec } : spec),
    capabilities: probe.capabilities,
    pythonTemplate: 'host',
    list: async () => await plainHearth.list(),
    snapshots: plainHearth.snapshots,
  })
}

afterAll(async () => {
  await hearth.dispose()
  await plainHearth.dispose()
  rmSync(plain, { recursive: true, force: true })
}, 120_000)
