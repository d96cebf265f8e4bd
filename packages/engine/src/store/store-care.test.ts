import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newSandboxId, newSnapshotId } from '@hearth/contract'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Hearth } from '../hearth.ts'
import { fileNameOf } from '../templates/template-record.ts'
import { collectGarbage } from './collect-garbage.ts'
import type { CapturedArea } from './disk-area.ts'
import type { StoredSnapshot, SnapshotManifest } from './snapshot-manifest.ts'
import { SnapshotStore } from './snapshot-store.ts'
import { checkStore } from './store-check.ts'
import { storeUsage } from './store-usage.ts'
import { manifestOf } from './testing/stage.fixture.ts'

let hearth: Hearth
let store: SnapshotStore

beforeEach(async () => {
  hearth = new Hearth({ home: await mkdtemp(join(tmpdir(), 'hearth-care-')), spareKeepers: 0 })
  store = new SnapshotStore(hearth.paths)
})
afterEach(async () => {
  await hearth.dispose()
  await rm(hearth.paths.home, { recursive: true, force: true })
})

async function make(
  kind: SnapshotManifest['kind'],
  facts: { digest?: string; layers?: StoredSnapshot[]; memory?: string } = {},
): Promise<StoredSnapshot> {
  const id = newSnapshotId()
  const { directory } = await store.draft(id)
  await mkdir(join(directory, 'disk', 'upper'), { recursive: true })
  const area: CapturedArea = {
    disk: { kind: 'layer', layers: (facts.layers ?? []).map((layer) => layer.id) },
    diskBytes: 1000,
  }
  const manifest = { ...manifestOf(newSandboxId(), area, { id }, kind), templateDigest: facts.digest ?? '' }
  if (facts.memory === undefined) return await store.commit(id, manifest)
  await mkdir(join(directory, 'memory'))
  await writeFile(join(directory, 'memory', 'ram'), facts.memory)
  return await store.commit(id, { ...manifest, memory: { runtime: 'qemu', bytes: facts.memory.length, facts: {} } })
}

it('counts by kind', async () => {
  await make('snapshot', { memory: 'x'.repeat(100_000) })
  await make('snapshot')
  await make('fork')
  await make('hibernation', { memory: 'y'.repeat(50_000) })
  const usage = await storeUsage(hearth.paths)
  expect(usage).toMatchObject({
    kind: 'directory',
    snapshots: { count: 2, bytes: 2000 },
    forks: { count: 1 },
    hibernated: { count: 1 },
    memory: { count: 1 },
  })
  expect(usage.memory.bytes).toBeGreaterThanOrEqual(100_000)
  expect(usage.hibernated.bytes).toBeGreaterThanOrEqual(50_000)
  expect(usage.totalBytes).toBeGreaterThan(usage.freeBytes)
})

it('knows a snapshot that was not written out when the host went down, and makes nothing of it', async () => {
  const torn = await make('snapshot', { memory: 'the memory' })
  const mark = join(torn.directory, 'unwritten')
  await store.settled()
  expect(existsSync(mark)).toBe(false)
  const other = await make('snapshot')
  // As it is found after the next start of the host, with and without what was in the note.
  for (const boot of ['00000000-0000-0000-0000-000000000000', '']) {
    await writeFile(mark, boot)
    await expect(store.whole(torn.id)).rejects.toMatchObject({ code: 'snapshot_corrupt' })
    expect((await checkStore(hearth.paths, new Set())).problems).toEqual([
      { kind: 'damaged', id: torn.id, problem: 'it was not written out when the host went down' },
    ])
  }
  expect((await store.whole(other.id)).id).toBe(other.id)
  // One whose maker died before is written out by the check, as long as the host has not gone down.
  await writeFile(mark, (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim())
  expect((await checkStore(hearth.paths, new Set())).problems).toEqual([])
  expect(existsSync(mark)).toBe(false)
})

it("finds what is damaged and what is nobody's, and nothing else", async () => {
  const whole = await make('snapshot', { memory: 'the memory' })
  // It is sealed behind our back.
  await store.settled()
  expect(await checkStore(hearth.paths, new Set())).toEqual({ snapshots: 1, sealed: [], problems: [] })

  await writeFile(join(whole.directory, 'memory', 'ram'), 'the Memory')
  const below = await make('snapshot')
  const above = await make('snapshot', { layers: [below] })
  await rm(below.directory, { recursive: true })
  const torn = await make('snapshot')
  await writeFile(join(torn.directory, 'manifest.json'), '{')
  const empty = await make('snapshot')
  await rm(join(empty.directory, 'disk'), { recursive: true })
  const half = newSnapshotId()
  const draft = await store.draft(half)
  await writeFile(join(draft.directory, 'draft'), '4194305 1')
  const sandbox = newSandboxId()
  const lost = newSandboxId()
  await mkdir(join(hearth.paths.store, 'areas', sandbox), { recursive: true })
  await mkdir(join(hearth.paths.store, 'areas', lost))
  const { problems } = await checkStore(hearth.paths, new Set([sandbox]))
  expect(problems.map(({ kind, id, problem }) => `${kind} ${id} ${problem}`).toSorted()).toEqual(
    [
      `damaged ${whole.id} the file ram of its memory is not what was captured`,
      `damaged ${above.id} snapshot ${below.id}, which it lies on, is missing`,
      `damaged ${torn.id} the manifest of snapshot ${torn.id} is damaged`,
      `damaged ${empty.id} its disk is missing`,
      `orphan ${half} it was never finished`,
      `orphan ${lost} its sandbox is gone`,
    ].toSorted(),
  )
})

it('collects what nobody refers to, with the roots of templates', async () => {
  const roots = join(hearth.paths.templates, 'roots')
  const digest = (letter: string): string => `sha256:${letter.repeat(64)}`
  for (const letter of ['a', 'b']) await mkdir(join(roots, digest(letter).replace(':', '-')), { recursive: true })
  const kept = await make('snapshot', { digest: digest('a') })
  const fork = await make('fork')
  const half = newSnapshotId()
  await writeFile(join((await store.draft(half)).directory, 'draft'), '4194305 1')
  expect(await collectGarbage(hearth)).toEqual({
    unfinished: [half],
    forks: [fork.id],
    areas: [],
    templates: [digest('b')],
    baked: [],
  })
  expect((await store.list()).map(({ id }) => id)).toEqual([kept.id])
  expect(await readdir(roots)).toEqual([digest('a').replace(':', '-')])
  expect(await collectGarbage(hearth)).toEqual({ unfinished: [], forks: [], areas: [], templates: [], baked: [] })
})

it('does not remove a template that a snapshot lies on', async () => {
  const digest = `sha256:${'c'.repeat(64)}`
  const snapshot = await make('snapshot', { digest })
  const names = join(hearth.paths.templates, 'names')
  await mkdir(names, { recursive: true })
  await mkdir(join(hearth.paths.templates, 'roots', digest.replace(':', '-')), { recursive: true })
  const record = {
    name: 'mine',
    identity: '1',
    digest,
    environment: {},
    workdir: null,
    user: null,
    builtAt: new Date().toISOString(),
  }
  await writeFile(join(names, `${fileNameOf('mine')}.json`), JSON.stringify(record))
  await expect(hearth.removeTemplate('mine')).rejects.toMatchObject({ code: 'template_in_use' })
  await store.remove(snapshot.id, new Set())
  await hearth.removeTemplate('mine')
  expect(await readdir(join(hearth.paths.templates, 'roots'))).toEqual([])
})
