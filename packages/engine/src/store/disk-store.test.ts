import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hostPaths, type HostPaths } from '../host/host.ts'
import { ensureStore, openStore, removeStore } from './disk-store.ts'

const root = process.getuid?.() === 0
const environment = { HEARTH_STORE_SIZE: '256M', PATH: process.env['PATH'] }

describe('the store on a loop file', () => {
  let paths: HostPaths

  beforeAll(async () => {
    paths = hostPaths({ ...process.env, HEARTH_HOME: await mkdtemp(join(tmpdir(), 'hearth-store-')) })
  })

  afterAll(async () => {
    await removeStore(paths)
    await rm(paths.home, { recursive: true, force: true })
  })

  it('says what is wrong with a size, and goes on as a directory', async () => {
    for (const [size, expected] of [
      ['8', /must be like 512M or 8G/],
      ['100M', /too small/],
      ['900000G', /are free/],
    ] as const) {
      const store = await ensureStore(paths, { ...environment, HEARTH_STORE_SIZE: size })
      expect(store.kind).toBe('directory')
      expect(store.reason).toMatch(root ? expected : /root/)
    }
  })

  it.runIf(root)('is made once, with all its blocks, by callers that come together', async () => {
    // A lock of a process that has died.
    await mkdir(join(paths.home, 'locks'), { recursive: true })
    await writeFile(join(paths.home, 'locks', 'store.99'), '4194305 1 00000000-0000-0000-0000-000000000000')
    const stores = await Promise.all([1, 2, 3, 4].map(async () => await ensureStore(paths, environment)))
    expect(stores).toEqual(stores.map(() => ({ kind: 'btrfs', place: 'file', reason: null })))
    const image = await stat(join(paths.home, 'store.img'))
    expect(image.size).toBe(256 * 1024 * 1024)
    expect(image.blocks * 512).toBeGreaterThanOrEqual(image.size)
    expect(await mountsOf(paths.store)).toBe(1)
    expect(await readFile('/proc/self/mounts', 'utf8')).toMatch(new RegExp(`${paths.store} btrfs rw,nosuid,nodev,`))
    expect((await stat(paths.store)).mode & 0o777).toBe(0o700)
  })

  it.runIf(root)('is mounted again with its content, and left alone when it is there', async () => {
    await writeFile(join(paths.store, 'kept'), 'yes')
    execFileSync('umount', [paths.store])
    expect(await ensureStore(paths, environment)).toEqual({ kind: 'btrfs', place: 'file', reason: null })
    expect(await readFile(join(paths.store, 'kept'), 'utf8')).toBe('yes')
    // What is mounted is found so without asking the guest program or taking the lock.
    expect(await ensureStore({ ...paths, guest: '/bin/false' }, environment)).toEqual({
      kind: 'btrfs',
      place: 'file',
      reason: null,
    })
  })

  it.runIf(root)('is closed to others, and without privileges, whoever mounted it', async () => {
    execFileSync('mount', ['-o', 'remount,bind,suid,dev', paths.store])
    execFileSync('chmod', ['711', paths.store])
    expect(await openStore(paths)).toEqual({ kind: 'btrfs', place: 'file', reason: null })
    expect(await readFile('/proc/self/mounts', 'utf8')).toMatch(new RegExp(`${paths.store} btrfs rw,nosuid,nodev,`))
    expect((await stat(paths.store)).mode & 0o777).toBe(0o700)
  })

  it.runIf(root)('is a directory when quotas cannot be enabled, and nothing stays mounted', async () => {
    await removeStore(paths)
    const store = await ensureStore({ ...paths, guest: '/bin/false' }, environment)
    expect(store.kind).toBe('directory')
    expect(await mountsOf(paths.store)).toBe(0)
  })
})

async function mountsOf(path: string): Promise<number> {
  const mounts = await readFile('/proc/self/mounts', 'utf8')
  return mounts.split('\n').filter((line) => line.split(' ')[1] === path).length
}
