import { expect, it } from 'vitest'
import { DEFAULT_LIMITS, newSandboxId, newSnapshotId, type SnapshotId, type SnapshotInfo } from '@hearth/contract'
import type { NewSnapshot, SandboxRecord, SnapshotRecord, Tenant } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

function newSnapshot(tenant: Tenant, change: Partial<NewSnapshot> = {}): NewSnapshot {
  const id = newSnapshotId()
  return {
    id,
    tenantId: tenant.id,
    hostId: 'here',
    state: 'creating',
    name: null,
    sandboxId: null,
    bytes: 50,
    ...change,
  }
}

function infoOf(id: SnapshotId): SnapshotInfo {
  return {
    id,
    name: null,
    sandbox: newSandboxId(),
    parent: null,
    rung: 'process',
    driver: 'bubblewrap 0.8.0',
    template: 'host',
    createdAt: new Date(1_750_000_000_123),
    memory: false,
    diskBytes: 100,
    memoryBytes: 20,
    metadata: { a: 'ä' },
    limits: DEFAULT_LIMITS,
  }
}

export function describeStoredSnapshots(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const make = async (tenant: Tenant, change: Partial<NewSnapshot> = {}): Promise<SnapshotRecord> => {
    const { snapshots } = fixture().store
    const { id } = await snapshots.insert(newSnapshot(tenant, change))
    return await snapshots.ready(id, infoOf(id))
  }

  it('is found by identifier and name when it is ready, and by its tenant alone', async () => {
    const { store, tenant } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const begun = await store.snapshots.insert(newSnapshot(mine, { name: 'base' }))
    expect(await store.snapshots.find(mine.id, 'base')).toBeNull()
    const info = infoOf(begun.id)
    const ready = await store.snapshots.ready(begun.id, info)
    expect(ready).toMatchObject({ name: 'base', bytes: 120, info: { ...info, name: 'base' } })
    for (const name of [begun.id, 'base']) {
      expect(await store.snapshots.find(mine.id, name)).toEqual(ready)
      expect(await store.snapshots.find(theirs.id, name)).toBeNull()
    }
    await expectRefusal(store.snapshots.ready(begun.id, info), 'conflict')
    await expectRefusal(store.snapshots.insert(newSnapshot(mine, { name: 'base' })), 'conflict')
    await make(theirs, { name: 'base' })
    await Promise.all([make(mine), make(mine)])
  })

  it('is hidden while it is removed, and there again when it cannot be', async () => {
    const { store, tenant } = fixture()
    const owner = await tenant()
    const { id } = await make(owner, { name: 'base' })
    expect([await store.snapshots.retire(id), await store.snapshots.retire(id)]).toEqual([true, false])
    expect(await store.snapshots.find(owner.id, 'base')).toBeNull()
    expect((await store.snapshots.ofHost('here', ['deleting'])).map((record) => record.id)).toEqual([id])
    expect(await store.snapshots.ofHost('elsewhere', ['deleting'])).toEqual([])
    await store.snapshots.restore(id)
    expect((await store.snapshots.find(owner.id, 'base'))?.id).toBe(id)
    await store.snapshots.forget(id)
    expect(await store.snapshots.find(owner.id, id)).toBeNull()
    await make(owner, { name: 'base' })
  })

  it('is listed in pages, and counts as long as it is there', async () => {
    const { store, tenant, advance } = fixture()
    const owner = await tenant()
    const made: SnapshotRecord[] = []
    for (let index = 0; index < 5; index++) {
      made.push(await make(owner))
      advance(index % 2)
    }
    await store.snapshots.insert(newSnapshot(owner))
    const first = await store.snapshots.list(owner.id, { limit: 3 })
    const second = await store.snapshots.list(owner.id, { limit: 3, cursor: first.next ?? '' })
    const listed = [...first.items, ...second.items].map(({ id }) => id)
    expect(new Set(listed)).toEqual(new Set(made.map(({ id }) => id)))
    expect([listed.length, second.next]).toEqual([5, null])
    expect(await store.sandboxes.usage(owner.id)).toMatchObject({ sandboxes: 0, snapshots: 6, diskBytes: 5 * 120 + 50 })
  })

  it('knows who is related to whom, also through what is gone', async () => {
    const { store, tenant, sandbox, advance } = fixture()
    const [owner, other] = [await tenant(), await tenant()]
    const child = async (parent: SandboxRecord): Promise<SandboxRecord> => {
      advance(1)
      return await sandbox(owner, { parentId: parent.id })
    }
    const root = await sandbox(owner)
    await sandbox(owner)
    const [left, right] = [await child(root), await child(root)]
    const leaf = await child(left)
    const remove = async (record: SandboxRecord): Promise<void> => {
      await store.sandboxes.transition(await store.sandboxes.transition(record, 'deleting'), 'deleted')
    }
    const related = async (id: string): Promise<string[]> =>
      (await store.sandboxes.lineage(owner.id, id)).map((record) => `${record.id} ${record.state}`)
    await remove(left)
    await remove(right)
    const expected = [`${root.id} creating`, `${left.id} deleted`, `${leaf.id} creating`]
    expect(await related(leaf.id)).toEqual(expected)
    expect(await related(root.id)).toEqual(expected)
    expect(await store.sandboxes.lineage(other.id, root.id)).toEqual([])
  })
}
