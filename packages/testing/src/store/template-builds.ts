import { newSnapshotId, type SnapshotId } from '@hearth/contract'
import type { StoreSession } from '@hearth/server/state'
import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const MOST_BUILDS = 1000

export function describeTemplateBuilds(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const snapshot = async (session: StoreSession, tenantId: string, name: string | null = null): Promise<SnapshotId> => {
    const id = newSnapshotId()
    await session.snapshots.insert({ id, tenantId, hostId: 'h', state: 'creating', name, sandboxId: null, bytes: 0 })
    return id
  }
  const nameOf = async (session: StoreSession, id: SnapshotId): Promise<string | null | undefined> =>
    (await session.snapshots.get(id))?.name

  it('is begun once, fails or becomes ready, each tenant for itself', async () => {
    const { store, tenant, now, advance } = fixture()
    const [own, other] = [await tenant(), await tenant()]
    const made = await store.templateBuilds.create({
      tenantId: own.id,
      name: 'app',
      tags: ['default'],
      limits: { cpus: 2 },
    })
    const fresh = {
      state: 'waiting',
      user: null,
      snapshotId: null,
      adopted: false,
      sandboxId: null,
      reason: null,
      createdAt: now(),
      updatedAt: now(),
    }
    expect(made).toEqual({
      id: made.id,
      tenantId: own.id,
      name: 'app',
      tags: ['default'],
      limits: { cpus: 2 },
      ...fresh,
    })
    await expectRefusal(store.templateBuilds.get(other.id, made.id), 'not_found')
    expect(await store.templateBuilds.list(other.id)).toEqual([])
    await store.templateBuilds.begin(made.id, 'me')
    await expectRefusal(store.templateBuilds.begin(made.id, 'me'), 'conflict')
    advance(5)
    await store.templateBuilds.touch([made.id], 'sb_x')
    expect(await store.templateBuilds.get(own.id, made.id)).toMatchObject({
      state: 'building',
      user: 'me',
      sandboxId: 'sb_x',
      updatedAt: now(),
    })
    await store.templateBuilds.failed(made.id, { message: 'no', step: '2' })
    expect(await store.templateBuilds.get(own.id, made.id)).toMatchObject({
      state: 'error',
      sandboxId: null,
      reason: { message: 'no', step: '2' },
    })
    // Whoever comes late finds that nobody waits for it.
    await expectRefusal(store.templateBuilds.ready(made, await snapshot(store, own.id)), 'conflict')
    await store.templateBuilds.remove(other.id, made.id)
    expect(await store.templateBuilds.list(own.id)).toHaveLength(1)
    await store.templateBuilds.remove(own.id, made.id)
    expect(await store.templateBuilds.list(own.id)).toEqual([])
  })

  it('is found by its tags, which lead to the latest; so does the name', async () => {
    const { store, tenant } = fixture()
    const { id: tenantId } = await tenant()
    const build = async (tags: string[]): Promise<{ readonly id: string; readonly snapshotId: SnapshotId }> => {
      const made = await store.templateBuilds.create({ tenantId, name: 'app', tags, limits: {} })
      await store.templateBuilds.begin(made.id, 'me')
      const snapshotId = await snapshot(store, tenantId)
      await store.templateBuilds.ready(made, snapshotId)
      return { id: made.id, snapshotId }
    }
    const tags = async (): Promise<Record<string, readonly string[]>> =>
      Object.fromEntries((await store.templateBuilds.list(tenantId, 'app')).map((each) => [each.id, each.tags]))
    const first = await build(['default', 'v1'])
    expect(await nameOf(store, first.snapshotId)).toBe('app')
    const second = await build(['default'])
    expect(await tags()).toEqual({ [first.id]: ['v1'], [second.id]: ['default'] })
    expect([await nameOf(store, first.snapshotId), await nameOf(store, second.snapshotId)]).toEqual([null, 'app'])
    await store.templateBuilds.assign(await store.templateBuilds.get(tenantId, first.id), ['default', 'good'])
    expect(await tags()).toEqual({ [first.id]: ['default', 'good', 'v1'], [second.id]: [] })
    expect([await nameOf(store, first.snapshotId), await nameOf(store, second.snapshotId)]).toEqual(['app', null])
    await store.templateBuilds.unassign(tenantId, 'app', ['v1', 'default'])
    expect(await tags()).toEqual({ [first.id]: ['good'], [second.id]: [] })
    expect(await nameOf(store, first.snapshotId)).toBeNull()
  })

  it('leaves a snapshot of that name alone that is no build', async () => {
    const { store, tenant } = fixture()
    const { id: tenantId } = await tenant()
    const taken = await snapshot(store, tenantId, 'app')
    const made = await store.templateBuilds.create({ tenantId, name: 'app', tags: ['default'], limits: {} })
    await store.templateBuilds.begin(made.id, 'me')
    const snapshotId = await snapshot(store, tenantId)
    await store.templateBuilds.ready(made, snapshotId)
    expect([await nameOf(store, taken), await nameOf(store, snapshotId)]).toEqual(['app', null])
  })

  it('has snapshots beside it that were taken under a name, which moves to the newer one', async () => {
    const { store, tenant } = fixture()
    const [{ id: tenantId }, other] = [await tenant(), await tenant()]
    const listed = async (): Promise<[SnapshotId | null, readonly string[]][]> =>
      (await store.templateBuilds.list(tenantId, 'app')).map((each) => [each.snapshotId, each.tags])
    const native = await snapshot(store, tenantId, 'app')
    const foreign = await snapshot(store, other.id, 'app')
    const [first, second] = [await snapshot(store, tenantId), await snapshot(store, tenantId)]
    await store.templateBuilds.adopt({ tenantId, name: 'app' }, 'default', first)
    expect([await nameOf(store, native), await nameOf(store, first)]).toEqual([null, 'app'])
    await store.templateBuilds.adopt({ tenantId, name: 'app' }, 'default', second)
    expect(new Map(await listed())).toEqual(
      new Map<SnapshotId, string[]>([
        [first, []],
        [second, ['default']],
      ]),
    )
    expect([await nameOf(store, first), await nameOf(store, second), await nameOf(store, foreign)]).toEqual([
      null,
      'app',
      'app',
    ])
    // Whoever removes the snapshot takes the name away, and the next round the row.
    await store.snapshots.forget(second)
    expect((await listed()).map(([id]) => id)).toEqual([first])
    const left = (await store.templateBuilds.unsettled()).filter((each) => each.tenantId === tenantId)
    expect(new Set(left.map(({ snapshotId }) => snapshotId))).toEqual(new Set([first, second]))
  })

  it('says how many a tenant may have', async () => {
    const { store, tenant, execute } = fixture()
    const { id } = await tenant()
    const rows = Array.from(
      { length: MOST_BUILDS },
      (_, index) => `('b${index}', '${id}', 'x', '[]', '{}', 'ready', 0, 0)`,
    )
    await execute(
      `insert into template_builds (id, tenant_id, name, tags, limits, state, created_at, updated_at) values ${rows.join(',')}`,
    )
    await expectRefusal(
      store.templateBuilds.create({ tenantId: id, name: 'x', tags: [], limits: {} }),
      'quota_exceeded',
    )
  })
}
