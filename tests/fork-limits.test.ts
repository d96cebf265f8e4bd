import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { ensureStore, Hearth, removeStore, type EmbeddedSandbox } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder } from './support/ladder.ts'

const MiB = 1024 * 1024
const root = process.getuid?.() === 0
const shared = new Hearth()
const rungs = (await ladder(shared)).flatMap(({ rung, probe }) =>
  probe.available && probe.capabilities.snapshots && probe.capabilities.hostTemplate && probe.capabilities.reconnect
    ? [rung]
    : [],
)
afterAll(() => shared.dispose())

/** Half a gigabyte of the same block; after each the number of blocks goes to the log. */
const WRITE = `head -c ${MiB} /dev/urandom > /tmp/block; i=0
while [ $i -lt 500 ]; do cat /tmp/block >> /tmp/big; i=$((i+1)); echo $i >> /tmp/log; done; sleep 600`
const CHECK = `size=$(stat -c %s /tmp/big); lines=$(wc -l < /tmp/log); echo $((size / ${MiB})) $lines
for i in $(seq 0 $((size / ${MiB}))); do cat /tmp/block; done 2>/dev/null | head -c $size | cmp - /tmp/big && echo whole`

/** The weakest writes fastest, and its files are the host's own: a kernel of its own has them to itself while it stands still. */
describe.each(rungs.slice(0, 1))('a fork on %s while 500 MB are being written', (rung) => {
  test('has of each file what there was at one instant', async () => {
    await using parent = await shared.create({ rung })
    const blocks = async (): Promise<number> => Number((await parent.exec('wc -l < /tmp/log || echo 0')).stdout)
    await using writer = await parent.spawn(WRITE)
    while ((await blocks()) < 100) continue
    const { children } = await parent.fork(2)
    for (const child of children) {
      const { stdout } = await child.exec(CHECK, { timeoutMs: 60_000 })
      const [, size = '', lines = ''] = /^(\d+) (\d+)\nwhole\n$/.exec(stdout) ?? [stdout]
      expect(Number(lines), stdout).toBeGreaterThanOrEqual(100)
      expect([Number(lines), Number(lines) + 1]).toContain(Number(size))
      await child.kill()
    }
    while ((await blocks()) < 500) continue
    expect((await parent.exec(CHECK, { timeoutMs: 60_000 })).stdout).toBe('500 500\nwhole\n')
    await writer.kill()
  })
})

/** One without captured memory, and one with it. */
describe.skipIf(!root).each(rungs.filter((rung) => rung !== 'container'))('a full disk on %s', (rung) => {
  const home = mkdtempSync(join(tmpdir(), 'hearth-full-'))
  const hearth = new Hearth({ home, spareKeepers: 0 })
  let parent: EmbeddedSandbox

  beforeAll(async () => {
    await ensureStore(hearth.paths, { ...process.env, HEARTH_STORE_SIZE: '256M' })
    parent = await hearth.create({ rung, template: 'host' })
    await parent.exec('echo kept > /tmp/kept; head -c 30000000 /dev/urandom > /dev/shm/much; sync')
  }, 60_000)

  afterAll(async () => {
    await hearth.dispose()
    await removeStore(hearth.paths)
    rmSync(home, { recursive: true, force: true })
  }, 60_000)

  test('makes a snapshot, a fork and a hibernation fail as such, and the sandbox goes on', async () => {
    const filler = fill(hearth.paths.store)
    // Where btrfs still finds room for a few blocks of its own, a copy of the files alone may succeed.
    const outcomes = [await outcome(() => parent.snapshot()), await outcome(async () => await kill(parent.fork(2)))]
    for (const made of outcomes) expect(['store_full', 'done']).toContain(made)
    if (rung === 'gvisor') expect(await outcome(() => parent.snapshot({ memory: 'required' }))).toBe('store_full')
    const slept = await outcome(() => parent.hibernate())
    expect(rung === 'gvisor' ? ['store_full'] : ['store_full', 'done']).toContain(slept)
    const wake = async (): Promise<void> => void (parent = await hearth.wake(parent.id))
    // What sleeps by then needs room to wake, and sleeps on without it.
    if (slept === 'done') expect(['store_full', 'done']).toContain(await outcome(wake))
    const woken = parent.info.state === 'running'
    const expectKept = async (): Promise<void> => {
      const { stdout } = await parent.exec('cat /tmp/kept; wc -c < /dev/shm/much')
      expect(stdout).toBe(slept === 'done' ? 'kept\n' : 'kept\n30000000\n')
    }
    if (woken) await expectKept()
    for (const path of filler) rmSync(path)
    if (!woken) await wake()
    await expectKept()
    for (const { id } of await hearth.snapshots.list()) await hearth.snapshots.remove(id)
    expect(await hearth.list()).toHaveLength(1)
    expect(readdirSync(join(hearth.paths.store, 'snapshots'))).toEqual([])
    expect(readdirSync(join(hearth.paths.store, 'areas'))).toEqual([parent.id])
    expect(await outcome(async () => await kill(parent.fork(1)))).toBe('done')
  })
})

async function kill(fork: ReturnType<EmbeddedSandbox['fork']>): Promise<void> {
  await Promise.all((await fork).children.map((child) => child.kill()))
}

async function outcome(work: () => Promise<unknown>): Promise<unknown> {
  return await work().then(
    () => 'done',
    (error: unknown) => (HearthError.isInstance(error) ? error.code : error),
  )
}

/** Takes all the room there is, down to the last block. */
function fill(directory: string): string[] {
  const paths: string[] = []
  for (let size = 8 * MiB; size >= 4096;) {
    const path = join(directory, `filler-${paths.length}`)
    try {
      if (statfsSync(directory).bavail === 0 && size > MiB) size = MiB
      paths.push(path)
      writeFileSync(path, Buffer.alloc(size, 7), { flush: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
      size /= 8
    }
  }
  return paths
}
