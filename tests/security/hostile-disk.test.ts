import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { describeEachRung, templateFor } from '../support/ladder.ts'

const hearth = new Hearth()
const outside = mkdtempSync(join(tmpdir(), 'hearth-outside-'))

/** Whatever a runtime or a guest mounts on, or writes to before any command runs. */
const MOUNTED = ['proc', 'dev', 'usr', '.hearth']
const WRITTEN = ['etc/hostname', 'etc/hosts', 'etc/resolv.conf', 'etc/machine-id', 'run', 'tmp']
/** As bubblewrap sees the host while it mounts, from the host's own root, and upwards out of a root that lies below it. */
const WAYS_OUT = [`../oldroot${outside}`, outside, `../../../../../..${outside}`]

beforeEach(() => {
  rmSync(outside, { recursive: true, force: true })
  mkdirSync(outside)
  // For everybody: what goes wrong can go wrong here.
  chmodSync(outside, 0o777)
})

afterAll(async () => {
  await hearth.dispose()
  rmSync(outside, { recursive: true, force: true })
}, 60_000)

await describeEachRung(hearth, ({ rung, probe: { capabilities }, probe }) => {
  const spec = { rung, template: templateFor(probe), user: 'root' }

  describe.skipIf(!capabilities.snapshots || !capabilities.processes)(`a hostile disk on ${rung}`, () => {
    test.skipIf(!capabilities.hostTemplate)('cannot say where anything is mounted', async () => {
      for (const [index, path] of MOUNTED.entries()) {
        await using parent = await hearth.create(spec)
        // What is mounted there hides it from the inside; an imported snapshot may have it all the same.
        const place = join(hearth.paths.store, 'areas', parent.id, 'upper', path)
        rmSync(place, { recursive: true, force: true })
        symlinkSync(WAYS_OUT[index % WAYS_OUT.length] ?? '', place)
        const taken = await parent.snapshot({ memory: 'none' })
        const made = hearth.create({ from: taken.id })
        await expect(made).rejects.toThrow(`the root has a link where something is mounted: /${path}`)
        await hearth.snapshots.remove(taken.id)
      }
      expect(readdirSync(outside)).toEqual([])
    })

    test('leads no copy of it to files of the host', async () => {
      await using parent = await hearth.create(spec)
      const attack = ['.hearth', ...WRITTEN]
        .map((path, index) => `mv /${path} /gone-${index}; ln -sfn ${WAYS_OUT[index % WAYS_OUT.length]} /${path}`)
        .join('\n')
      await parent.exec(attack)
      try {
        const { children } = await parent.fork(1, { memory: 'none' })
        for (const child of children) {
          expect((await child.exec('hostname')).stdout).toBe(`${child.info.id.replace('_', '-')}\n`)
          await child.kill()
        }
      } catch (error) {
        // One that cannot be made is as good.
        expect(HearthError.isInstance(error) && error.code).toBe('launch_failed')
      }
      expect(readdirSync(outside)).toEqual([])
      expect((await parent.exec('echo alive')).stdout).toBe('alive\n')
    })
  })
})
