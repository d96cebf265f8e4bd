import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { hostPaths, type HostPaths } from '../host/host.ts'
import { ensureStore, inspectStore, openStore, removeStore } from './disk-store.ts'
import { mountAt } from './mount-table.ts'
import { canMountBtrfs, NativeBtrfs } from './testing/native-btrfs.fixture.ts'

const MiB = 1024 * 1024
const onBtrfs = (place: 'file' | 'mount' | 'home'): object => ({ kind: 'btrfs', place, reason: null })
/** Where nothing asks for a size. */
const unsized = { PATH: process.env['PATH'] }
const small = { ...unsized, HEARTH_STORE_SIZE: '256M' }

describe.runIf(canMountBtrfs)('a store on btrfs that is there already', { timeout: 60_000 }, () => {
  let disk: NativeBtrfs

  beforeEach(() => {
    disk = new NativeBtrfs('1G')
  })
  afterEach(async () => await disk[Symbol.asyncDispose]())

  describe('mounted at the place of the store', () => {
    let paths: HostPaths
    beforeEach(() => {
      paths = homeAt(join(disk.folder, 'a home'))
    })

    it('gets quotas when it is the store’s alone, and is closed', async () => {
      disk.mount(paths.store)
      expect(await inspectStore(paths)).toMatchObject({ kind: 'directory', reason: /quotas are off/ })
      expect(await openStore(paths)).toEqual(onBtrfs('mount'))
      expect(await inspectStore(paths)).toEqual(onBtrfs('mount'))
      expect((await mountAt(paths.store))?.options).toEqual(expect.arrayContaining(['nosuid', 'nodev']))
      expect(statSync(paths.store).mode & 0o777).toBe(0o700)
      expect(readdirSync(paths.home)).not.toContain('store.img')
      disk.run('btrfs', 'subvolume', 'create', join(paths.store, 'deep'))
      await removeStore(paths)
      expect(readdirSync(paths.store)).toEqual([])
      expect(await mountAt(paths.store)).not.toBeNull()
    })

    it('is left alone when it is a part of one that holds more, until quotas are on', async () => {
      const host = disk.mount(join(disk.folder, 'host'))
      disk.run('btrfs', 'subvolume', 'create', join(host, 'part'))
      disk.mountAgain(paths.store, 'subvol=part')
      expect(await ensureStore(paths, small)).toMatchObject({ kind: 'directory', reason: /holds more than the store/ })
      expect(readdirSync(paths.home)).not.toContain('store.img')
      expect(readdirSync(paths.store)).toEqual([])
      disk.enableQuotas(host)
      expect(await ensureStore(paths, small)).toEqual(onBtrfs('mount'))
    })

    it('is left alone when all of it is mounted elsewhere too', async () => {
      disk.mount(join(disk.folder, 'host'))
      disk.mountAgain(paths.store)
      expect(await openStore(paths)).toMatchObject({ kind: 'directory', reason: /holds more than the store/ })
    })
  })

  describe('with the home on it', () => {
    let host: string
    let paths: HostPaths
    beforeEach(() => {
      host = disk.mount(join(disk.folder, 'host'))
      paths = homeAt(join(host, 'home'))
    })

    it('is used where its quotas are on, as a subvolume that is no mount', async () => {
      disk.enableQuotas(host)
      const stores = await Promise.all([1, 2, 3].map(async () => await ensureStore(paths, unsized)))
      expect(stores).toEqual(stores.map(() => onBtrfs('home')))
      expect(statSync(paths.store)).toMatchObject({ ino: 256 })
      expect(statSync(paths.store).mode & 0o777).toBe(0o700)
      expect(await mountAt(paths.store)).toBeNull()
      expect(readdirSync(paths.home)).not.toContain('store.img')
      writeFileSync(join(paths.store, 'kept'), 'yes')
      await disk.unmount()
      disk.mount(host)
      expect(await openStore(paths)).toEqual(onBtrfs('home'))
      expect(readFileSync(join(paths.store, 'kept'), 'utf8')).toBe('yes')
      // What is in it is never hidden by another store.
      disk.run('btrfs', 'quota', 'disable', host)
      for (const make of [() => openStore(paths), () => ensureStore(paths, small)])
        expect(await make()).toMatchObject({ kind: 'directory', reason: /quotas are off/ })
      expect(readFileSync(join(paths.store, 'kept'), 'utf8')).toBe('yes')
    })

    it('is not used when a size is asked for, and a file that is there stays the store', async () => {
      disk.enableQuotas(host)
      expect(await ensureStore(paths, small)).toEqual(onBtrfs('file'))
      disk.run('umount', paths.store)
      expect(await ensureStore(paths, unsized)).toEqual(onBtrfs('file'))
      await removeStore(paths)
    })

    it('gets no quotas: the store is a file of its own, also over an empty subvolume', async () => {
      disk.run('btrfs', 'subvolume', 'create', paths.store)
      expect(await openStore(paths)).toMatchObject({ kind: 'directory', reason: /quotas are off/ })
      expect(await ensureStore(paths, small)).toEqual(onBtrfs('file'))
      expect(await openStore(paths)).toEqual(onBtrfs('file'))
      await removeStore(paths)
      expect(await mountAt(paths.store)).toBeNull()
    })

    it('cannot break a store in a file by being full', async () => {
      expect(await ensureStore(paths, small)).toEqual(onBtrfs('file'))
      expect(disk.run('lsattr', join(paths.home, 'store.img'))).toMatch(/^\S*C\S* /)
      // On a full host each write waits until btrfs has looked for room, so that there are few.
      const write = (name: string): void => {
        writeFileSync(join(paths.store, name), randomBytes(256 * 1024), { flush: true })
        disk.run('sync', '--file-system', paths.store)
      }
      write('one')
      expect(() => fill(host)).toThrow(/ENOSPC/)
      for (const name of ['one', 'two', 'three']) write(name)
      await removeStore(paths)
    })
  })
})

function homeAt(path: string): HostPaths {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  return hostPaths({ ...process.env, HEARTH_HOME: path })
}

/** Takes all the room that files can get. */
function fill(directory: string): void {
  for (let index = 0; ; index++)
    writeFileSync(join(directory, `filler-${index}`), Buffer.alloc(MiB, 7), { flush: true })
}
