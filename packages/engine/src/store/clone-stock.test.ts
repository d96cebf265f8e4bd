import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId } from '@hearth/contract'
import { describe, expect, it, vi } from 'vitest'
import { CloneStock, sweepClones } from './clone-stock.ts'
import type { StoredSnapshot } from './snapshot-manifest.ts'
import { runStore, typedStoreError } from './store-helper.ts'
import { manifestOf, Stage } from './testing/stage.fixture.ts'

const LIMIT = 10_000_000

const unexpected = (what: string, error: unknown): never => expect.unreachable(`${what}: ${String(error)}`)

async function snapshotOn({ paths }: Stage): Promise<StoredSnapshot> {
  const id = newSnapshotId()
  const directory = join(paths.store, 'snapshots', id)
  await mkdir(directory, { recursive: true })
  await runStore(paths.guest, 'subvolume-create', join(directory, 'disk'))
  await writeFile(join(directory, 'disk', 'file'), 'captured')
  const area = { disk: { kind: 'subvolume' }, diskBytes: 0 } as const
  return { id, directory, manifest: manifestOf(newSandboxId(), area, { id }) }
}

describe.runIf(process.getuid?.() === 0)('clones that are made ahead', { timeout: 60_000 }, () => {
  it('are given once, to who wants the same, and go with their maker', async () => {
    await using stage = await Stage.open({ btrfs: '256M' })
    const { store } = stage.paths
    const ahead = async (): Promise<string[]> => await readdir(join(store, 'ahead'))
    const stock = new CloneStock(stage.paths, 2, unexpected)
    const snapshot = await snapshotOn(stage)
    const target = (name: string): string => join(store, name)
    expect(stock.take(snapshot, LIMIT, target('none'))).toBe(false)
    await stock.fill()
    expect(stock.take(snapshot, LIMIT, target('first'))).toBe(true)
    expect(stock.take(snapshot, LIMIT, target('second'))).toBe(true)
    expect(stock.take(snapshot, LIMIT, target('third'))).toBe(false)
    await writeFile(join(target('first'), 'file'), 'changed')
    expect(await readFile(join(target('second'), 'file'), 'utf8')).toBe('captured')
    const large = writeFile(join(target('second'), 'large'), Buffer.alloc(2 * LIMIT))
    await expect(large.catch((error: unknown) => typedStoreError(error))).resolves.toMatchObject({ code: 'store_full' })
    await stock.fill()
    expect(stock.take(snapshot, 2 * LIMIT, target('other'))).toBe(false)
    await stock.fill()
    expect(stock.take(snapshot, 2 * LIMIT, target('other'))).toBe(true)
    await stock.dispose()
    expect(await ahead()).toEqual([])
  })

  it('are made again after that failed, and nothing of it ends the process', async () => {
    await using stage = await Stage.open({ btrfs: '256M' })
    const problems: string[] = []
    const stock = new CloneStock(stage.paths, 1, (what) => void problems.push(what))
    const snapshot = await snapshotOn(stage)
    const ahead = join(stage.paths.store, 'ahead')
    await writeFile(ahead, 'no directory can be made here')
    expect(stock.take(snapshot, LIMIT, join(stage.paths.store, 'none'))).toBe(false)
    await vi.waitFor(() => expect(problems).toEqual([`copying ${join(snapshot.directory, 'disk')}`]))
    await rm(ahead)
    await stock.fill()
    expect(stock.take(snapshot, LIMIT, join(stage.paths.store, 'first'))).toBe(true)
    await stock.dispose()
  })

  it('of a process that has died are swept, those of one that lives stay', async () => {
    await using stage = await Stage.open({ btrfs: '256M' })
    const stock = new CloneStock(stage.paths, 2, unexpected)
    stock.take(await snapshotOn(stage), LIMIT, '/nowhere')
    await stock.fill()
    const directory = join(stage.paths.store, 'ahead')
    const own = await readdir(directory)
    expect(own.length).toBe(2)
    await runStore(stage.paths.guest, 'subvolume-create', join(directory, `${process.pid}.1.1`))
    await sweepClones(stage.paths)
    expect(await readdir(directory)).toEqual(own)
    await stock.dispose()
    expect(existsSync(directory)).toBe(true)
  })
})
