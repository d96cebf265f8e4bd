import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError } from '@hearth/contract'
import { ensureStore, Hearth, removeStore, type EmbeddedSandbox } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'
import { shareTemplate } from './support/small-store.ts'

const MiB = 1024 * 1024
const root = process.getuid?.() === 0
const shared = new Hearth()
const rungs = (await ladder(shared)).flatMap(({ rung, probe }) =>
  probe.available && probe.capabilities.snapshots && probe.capabilities.reconnect
    ? [{ rung, template: templateFor(probe), memory: probe.capabilities.memory, volumes: probe.capabilities.volumes }]
    : [],
)
afterAll(() => shared.dispose())

/** A home whose whole store has this size. What a kernel of its own boots from is that of the tests: making it takes minutes. */
async function smallHome(storeSize: string): Promise<Hearth> {
  const home = mkdtempSync(join(tmpdir(), 'hearth-full-'))
  const hearth = new Hearth({ home, spareKeepers: 0 })
  for (const { template } of rungs.slice(-1)) if (template !== 'host') await shareTemplate(home, template)
  await ensureStore(hearth.paths, { ...process.env, HEARTH_STORE_SIZE: storeSize })
  return hearth
}

async function removeHome(hearth: Hearth): Promise<void> {
  await hearth.dispose()
  await removeStore(hearth.paths)
  rmSync(hearth.paths.home, { recursive: true, force: true })
}

/** Half a gigabyte of the same block; after each the number of blocks goes to the log. */
const WRITE = `head -c ${MiB} /dev/urandom > /tmp/block; i=0
while [ $i -lt 500 ]; do cat /tmp/block >> /tmp/big; i=$((i+1)); echo $i >> /tmp/log; done; sleep 600`
const CHECK = `size=$(stat -c %s /tmp/big); lines=$(wc -l < /tmp/log); echo $((size / ${MiB})) $lines
for i in $(seq 0 $((size / ${MiB}))); do cat /tmp/block; done 2>/dev/null | head -c $size | cmp - /tmp/big && echo whole`

describe.each(rungs)('a fork on $rung while 500 MB are being written', ({ rung, template }) => {
  test('has of each file what there was at one instant', { timeout: 300_000 }, async () => {
    await using parent = await shared.create({ rung, template })
    const blocks = async (): Promise<number> => Number((await parent.exec('wc -l < /tmp/log || echo 0')).stdout)
    await using writer = await parent.spawn(WRITE)
    while ((await blocks()) < 100) continue
    const { children, memory } = await parent.fork(2)
    for (const child of children) {
      // Where it goes on in the child, it ends between two steps as well as anywhere.
      if (memory) await (await child.attach(writer.id)).kill()
      const { stdout } = await child.exec(CHECK, { timeoutMs: 120_000 })
      const [, size = '', lines = ''] = /^(\d+) (\d+)\nwhole\n$/.exec(stdout) ?? [stdout]
      expect(Number(lines), stdout).toBeGreaterThanOrEqual(100)
      expect([Number(lines), Number(lines) + 1]).toContain(Number(size))
      await child.kill()
    }
    while ((await blocks()) < 500) continue
    expect((await parent.exec(CHECK, { timeoutMs: 120_000 })).stdout).toBe('500 500\nwhole\n')
    await writer.kill()
  })
})

const VOLUME = '/srv/volume'
const ON_VOLUME = `cd ${VOLUME} && head -c 3000000 /dev/urandom > data && sha256sum data > sum && sync`
const VOLUME_IS_WHOLE = `cd ${VOLUME} && sha256sum --quiet -c sum && echo whole`

describe.skipIf(!root).each(rungs)('a full disk on $rung', ({ rung, template, memory, volumes }) => {
  let hearth: Hearth
  let parent: EmbeddedSandbox

  beforeAll(async () => {
    hearth = await smallHome(rung === 'microvm' ? '1G' : '256M')
    const mounts = volumes ? [{ volume: (await hearth.volumes.create({ diskBytes: 16 * MiB })).id, path: VOLUME }] : []
    parent = await hearth.create({ rung, template, volumes: mounts, limits: { memoryBytes: 256 * MiB } })
    await parent.exec('echo kept > /tmp/kept; head -c 30000000 /dev/urandom > /dev/shm/much; sync')
    if (volumes) await parent.exec(ON_VOLUME)
  }, 180_000)

  afterAll(() => removeHome(hearth), 60_000)

  test(
    'makes a snapshot, a fork and a hibernation fail as such, and the sandbox goes on',
    { timeout: 180_000 },
    async () => {
      const filler = fill(hearth.paths.store)
      // Where btrfs still finds room for a few blocks of its own, a copy of the files alone may succeed.
      const outcomes = [await outcome(() => parent.snapshot()), await outcome(async () => await kill(parent.fork(2)))]
      for (const made of outcomes) expect(['store_full', 'done']).toContain(made)
      if (memory) expect(await outcome(() => parent.snapshot({ memory: 'required' }))).toBe('store_full')
      const slept = await outcome(() => parent.hibernate())
      expect(memory ? ['store_full'] : ['store_full', 'done']).toContain(slept)
      const wake = async (): Promise<void> => void (parent = await hearth.wake(parent.id))
      // What sleeps by then needs room to wake, and sleeps on without it.
      if (slept === 'done') expect(['store_full', 'done']).toContain(await outcome(wake))
      const woken = parent.info.state === 'running'
      const expectKept = async (): Promise<void> => {
        const { stdout } = await parent.exec('cat /tmp/kept; wc -c < /dev/shm/much')
        expect(stdout).toBe(slept === 'done' ? 'kept\n' : 'kept\n30000000\n')
        if (volumes) expect((await parent.exec(VOLUME_IS_WHOLE)).stdout).toBe('whole\n')
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
      await parent.kill()
      if (!volumes) return
      await using next = await hearth.create({
        rung,
        template,
        volumes: [...parent.info.volumes],
        limits: parent.info.limits,
      })
      expect((await next.exec(VOLUME_IS_WHOLE)).stdout).toBe('whole\n')
    },
  )
})

/** What the document of threats says about it: the limit is about what a sandbox writes itself. */
describe.skipIf(!root || rungs[0]?.rung !== 'process')('a chain of forks whose parents end', () => {
  const LIMIT = 16 * MiB
  const GENERATIONS = 4

  test(
    'holds at most one disk limit for each generation, and nothing when it is gone',
    { timeout: 120_000 },
    async () => {
      const hearth = await smallHome('512M')
      try {
        const used = (): number => {
          execFileSync('sync', ['-f', hearth.paths.store])
          const { blocks, bfree, bsize } = statfsSync(hearth.paths.store)
          return (blocks - bfree) * bsize
        }
        let last = await hearth.create({ rung: 'process', template: 'host', limits: { diskBytes: LIMIT } })
        const before = used()
        for (let generation = 0; generation < GENERATIONS; generation++) {
          // More than there is room for: it is refused, and what fits stays.
          await last.exec(`head -c ${2 * LIMIT} /dev/urandom > /tmp/generation-${generation}; sync`)
          const { children } = await last.fork(1)
          await last.kill()
          for (const child of children) last = child
          expect(used() - before).toBeLessThan((generation + 1) * LIMIT + 4 * MiB)
        }
        await last.kill()
        await hearth.sweep({ graceMs: 0 })
        // Their blocks are free once btrfs has looked after what was removed.
        const left = ['areas', 'snapshots'].flatMap((name) => readdirSync(join(hearth.paths.store, name)))
        expect(left).toEqual([])
      } finally {
        await removeHome(hearth)
      }
    },
  )
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
