import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  checkStore,
  ensureStore,
  Hearth,
  hostPaths,
  storeUsage,
  type EmbeddedSandbox,
  type Store,
} from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canMountBtrfs, NativeBtrfs } from '../packages/engine/src/store/testing/native-btrfs.fixture.ts'
import { ladder } from './support/ladder.ts'

const CLI = join(import.meta.dirname, '../packages/cli/bin/hearth.js')
const MiB = 1024 * 1024
const LIMIT = 16 * MiB
const shared = new Hearth({ spareKeepers: 0 })
const rungs = (await ladder(shared)).flatMap(({ rung, probe }) =>
  probe.available && probe.capabilities.hostTemplate && probe.capabilities.reconnect ? [rung] : [],
)
afterAll(() => shared.dispose())

/** Where the home lies, and how the store gets there. */
const PLACES = {
  home: (disk: NativeBtrfs) => {
    const host = disk.mount(join(disk.folder, 'host'))
    disk.enableQuotas(host)
    return join(host, 'home')
  },
  mount: (disk: NativeBtrfs) => {
    disk.mount(join(disk.folder, 'home', 'store'))
    return join(disk.folder, 'home')
  },
} as const

describe.runIf(canMountBtrfs).each(['home', 'mount'] as const)('a store on btrfs of the host: %s', (place) => {
  let disk: NativeBtrfs
  let home: string
  let store: Store

  beforeAll(async () => {
    disk = new NativeBtrfs('1G')
    home = PLACES[place](disk)
    mkdirSync(home, { recursive: true, mode: 0o700 })
    const { HEARTH_STORE_SIZE: _, ...environment } = process.env
    store = await ensureStore(hostPaths({ ...environment, HEARTH_HOME: home }), environment)
  })
  afterAll(async () => await disk[Symbol.asyncDispose]())

  test('is the store', () => {
    expect(store).toEqual({ kind: 'btrfs', place, reason: null })
    const text = execFileSync(process.execPath, [CLI, 'store', 'df'], {
      env: { ...process.env, HEARTH_HOME: home },
      encoding: 'utf8',
    })
    expect(text).toContain(
      place === 'home' ? 'btrfs on the file system of the home' : 'btrfs on the file system mounted',
    )
  })

  test.each(rungs)('%s: limits hold, copies are their own, and all outlives a restart', async (rung) => {
    const spec = { rung, template: 'host', limits: { diskBytes: LIMIT } }
    const before = new Hearth({ home, spareKeepers: 0 })
    const made = await before.create(spec)
    await made.exec('echo one > /tmp/file; head -c 6000000 /dev/urandom > /tmp/data')
    const snapshot = await made.snapshot()
    await expectLimit(made)
    await before.release()

    await using hearth = new Hearth({ home, spareKeepers: 0 })
    const parent = await hearth.adopt(made.id)
    await using restored = await hearth.create({ from: snapshot.id })
    expect((await restored.exec('cat /tmp/file; wc -c < /tmp/data')).stdout).toBe('one\n6000000\n')
    const { children } = await parent.fork(2)
    for (const [index, child] of children.entries()) {
      await child.exec(`echo ${index} >> /tmp/file`)
      expect((await child.exec('cat /tmp/file')).stdout).toBe(`one\n${index}\n`)
      await expectLimit(child)
    }
    expect((await parent.exec('cat /tmp/file')).stdout).toBe('one\n')
    const usage = await storeUsage(hearth.paths)
    expect(usage).toMatchObject({ kind: 'btrfs', place, areas: { count: 4 }, snapshots: { count: 1 } })
    expect(usage.areas.bytes).toBeGreaterThan(4 * MiB)
    expect((await checkStore(hearth.paths, new Set((await hearth.list()).map(({ id }) => id)))).problems).toEqual([])

    await Promise.all([parent, restored, ...children].map((sandbox) => sandbox.kill()))
    await hearth.snapshots.remove(snapshot.id)
    await hearth.sweep({ graceMs: 0 })
    for (const name of ['areas', 'snapshots']) expect(readdirSync(join(hearth.paths.store, name))).toEqual([])
  })

  test('sleeps through a restart of the host', async () => {
    const before = new Hearth({ home, spareKeepers: 0 })
    const made = await before.create({ rung: 'process', template: 'host', limits: { diskBytes: LIMIT } })
    await made.exec('echo kept > /tmp/file')
    await made.hibernate()
    await before.release()
    await disk.unmount()
    PLACES[place](disk)
    await using hearth = new Hearth({ home, spareKeepers: 0 })
    const woken = await hearth.wake(made.id)
    expect((await woken.exec('cat /tmp/file')).stdout).toBe('kept\n')
    await expectLimit(woken)
    expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(join(home, 'store.img'))
    await woken.kill()
  })
})

/** Writes more than its disk may hold, and frees it again. */
async function expectLimit(sandbox: EmbeddedSandbox): Promise<void> {
  const { stdout } = await sandbox.exec(
    `head -c ${2 * LIMIT} /dev/urandom > /tmp/much && sync /tmp/much && echo fits; stat -c %s /tmp/much; rm /tmp/much; sync -f /tmp`,
  )
  expect(stdout).not.toContain('fits')
  expect(Number(stdout)).toBeLessThanOrEqual(LIMIT)
}
