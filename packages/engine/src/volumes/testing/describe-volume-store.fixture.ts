import { lstatSync, readdirSync } from 'node:fs'
import { chown, link, mkdir, readFile, readlink, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSandboxId, newVolumeId } from '@hearth/contract'
import { describe, expect, it } from 'vitest'
import { Hearth } from '../../hearth.ts'
import { claimDraft } from '../../store/snapshot-files.ts'
import type { Stage } from '../../store/testing/stage.fixture.ts'

const root = process.getuid?.() === 0

const BEHAVIOURS: Readonly<Record<string, (hearth: Hearth) => Promise<void>>> = {
  'are filled by the host once, and never after a guest has seen them': async ({ volumes }) => {
    const { id } = await volumes.create()
    await volumes.fill(id, async (path) => await writeFile(join(path, 'file'), 'first'))
    await volumes.fill(id, async (path) => await writeFile(join(path, 'file'), 'second'))
    const failed = volumes.fill(id, () => Promise.reject(new Error('no luck')))
    await expect(failed).rejects.toThrow('no luck')
    const other = volumes.fill(id, async () => await volumes.fill(id, () => Promise.resolve()))
    await expect(other).rejects.toMatchObject({ code: 'volume_in_use' })
    await using still = await volumes.still(id)
    expect(await readFile(join(still.path, 'file'), 'utf8')).toBe('second')
  },

  'are closed to the host when a sandbox had them, and so are their clones': async (hearth) => {
    const { volumes } = hearth
    const { id } = await volumes.create()
    const early = await volumes.clone(id)
    {
      await using sandbox = await hearth.create({ rung: 'process', volumes: [{ volume: id, path: '/v' }] })
      await sandbox.exec('echo x > /v/file')
      await expect(volumes.fill(id, () => Promise.resolve())).rejects.toMatchObject({ code: 'volume_in_use' })
    }
    await expect(volumes.fill(id, () => Promise.resolve())).rejects.toMatchObject({ code: 'invalid_state' })
    const late = await volumes.clone(id)
    await expect(volumes.fill(late.id, () => Promise.resolve())).rejects.toMatchObject({ code: 'invalid_state' })
    await volumes.fill(early.id, async (path) => await writeFile(join(path, 'file'), ''))
  },

  'are copied with everything that files have': async ({ volumes }) => {
    const { id } = await volumes.create()
    await volumes.fill(id, async (path) => {
      await mkdir(join(path, 'dir'), { mode: 0o750 })
      await writeFile(join(path, 'dir/file'), 'content', { mode: 0o640 })
      await link(join(path, 'dir/file'), join(path, 'dir/same'))
      await symlink('/etc/passwd', join(path, 'link'))
      await utimes(join(path, 'dir/file'), 1_000_000, 2_000_000)
      if (root) await chown(join(path, 'dir/file'), 1000, 1001)
    })
    const clone = await volumes.clone(id)
    expect(clone).toMatchObject({ parent: id, diskBytes: (await volumes.info(id))?.diskBytes })
    await using still = await volumes.still(clone.id)
    const file = await stat(join(still.path, 'dir/file'))
    expect([file.mode & 0o7777, file.mtimeMs, file.nlink]).toEqual([0o640, 2_000_000_000, 2])
    if (root) expect([file.uid, file.gid]).toEqual([1000, 1001])
    expect(await readlink(join(still.path, 'link'))).toBe('/etc/passwd')
    expect((await stat(join(still.path, 'dir'))).mode & 0o7777).toBe(0o750)
    expect(await volumes.changes(clone.id, id)).toEqual([])
  },

  'tell what changed, also with names that are no text and what is hostile': async ({ volumes }) => {
    const { id } = await volumes.create()
    await volumes.fill(id, async (path) => {
      await mkdir(join(path, 'kept/deep'), { recursive: true })
      await writeFile(join(path, 'kept/deep/same'), 'same')
      await writeFile(join(path, 'kept/deep/changed'), 'before')
      await writeFile(join(path, 'removed'), '')
    })
    const base = await volumes.clone(id)
    await using before = await volumes.still(base.id)
    await volumes.fill(id, async (path) => {
      await rm(join(path, 'removed'))
      await writeFile(join(path, 'kept/deep/changed'), 'afterwards')
      await writeFile(Buffer.concat([Buffer.from(join(path, 'name-')), Buffer.from([0xff, 0x0a])]), 'x', {
        mode: 0o755,
      })
      await symlink('../../../../etc/shadow', join(path, 'way-out'))
    })
    const changes = await volumes.changes(id, before, { contentBytes: 100 })
    const shown = changes.map(({ name: bytes, change, type, mode, target, content }) => [
      Buffer.from(bytes).toString('latin1'),
      change,
      type,
      type === 'file' ? mode & 0o777 : null,
      target === null ? null : Buffer.from(target).toString(),
      content === undefined ? null : Buffer.from(content).toString(),
    ])
    expect(shown).toEqual([
      ['kept/deep/changed', 'changed', 'file', 0o644, null, 'afterwards'],
      ['name-\u{ff}\n', 'added', 'file', 0o755, null, 'x'],
      ['removed', 'removed', 'file', 0o644, null, null],
      ['way-out', 'added', 'symlink', null, '../../../../etc/shadow', null],
    ])
    expect((await volumes.changes(id, base.id, { paths: ['/kept'] })).length).toBe(1)
    expect(await volumes.changes(before, base.id)).toEqual([])
  },

  'are what their identifiers say, and nothing else': async ({ volumes, paths }) => {
    const id = newVolumeId()
    expect(await volumes.create({ id })).toMatchObject({ id, attachedTo: null, readBy: [], parent: null })
    await expect(volumes.create({ id })).rejects.toMatchObject({ code: 'conflict' })
    await expect(volumes.create({ id: '../x' })).rejects.toMatchObject({ code: 'invalid_request' })
    await expect(volumes.create({ diskBytes: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
    for (const wrong of ['../../etc', 'vol_', `${id}/..`, newSandboxId(), `${id}\0`]) {
      await expect(volumes.info(wrong)).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(volumes.remove(wrong)).rejects.toMatchObject({ code: 'invalid_request' })
      await expect(volumes.still(wrong)).rejects.toMatchObject({ code: 'invalid_request' })
    }
    const missing = newVolumeId()
    expect(await volumes.info(missing)).toBeNull()
    for (const call of [volumes.clone(missing), volumes.still(missing), volumes.remove(missing)])
      await expect(call).rejects.toMatchObject({ code: 'volume_not_found' })
    expect((await volumes.list()).map((volume) => volume.id)).toEqual([id])
    expect(readdirSync(join(paths.store, 'volumes'))).toEqual([id])
    await volumes.remove(id)
    expect(readdirSync(join(paths.store, 'volumes'))).toEqual([])
  },

  'that were never finished are swept, with the still copies of the dead': async (hearth) => {
    const { volumes, paths } = hearth
    const { id } = await volumes.create()
    const [dead, mine] = [newVolumeId(), newVolumeId()].map((name) => join(paths.store, 'volumes', name))
    for (const directory of [dead, mine]) await mkdir(join(directory ?? '', 'files'), { recursive: true })
    await writeFile(join(dead ?? '', 'draft'), '4194303 1')
    claimDraft(mine ?? '')
    await using still = await volumes.still(id)
    await mkdir(join(paths.store, 'still', '4194303.1.1', 'd'), { recursive: true })
    await hearth.sweep({ graceMs: 0 })
    expect(new Set(readdirSync(join(paths.store, 'volumes')))).toEqual(new Set([id, mine?.split('/').at(-1)]))
    expect(readdirSync(join(paths.store, 'still')).length).toBe(1)
    expect(lstatSync(still.path).isDirectory()).toBe(true)
  },
}

/** Volumes as the host sees them, whatever they lie on. */
export function describeVolumeStore(name: string, open: () => Promise<Stage>): void {
  describe(`volumes on ${name}`, { timeout: 60_000 }, () => {
    it.each(Object.entries(BEHAVIOURS))('%s', async (_name, behaviour) => {
      expect.hasAssertions()
      await using stage = await open()
      await using hearth = new Hearth({ home: stage.paths.home, spareKeepers: 0 })
      await behaviour(hearth)
    })
  })
}
