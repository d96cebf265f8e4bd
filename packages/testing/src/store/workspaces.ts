import { BOUNDS, newRepositoryId, newVolumeId, newWorkspaceId, type RepositoryId } from '@hearth/contract'
import type { NewWorkspace, Store, WorkspaceRecord } from '@hearth/server/state'
import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const LOCATION = {
  url: 'https://example.com/a.git',
  path: null,
  secret: null,
  forge: null,
  forgeSecret: null,
  anywhere: false,
} as const
const BASE = 'a'.repeat(40)

export function describeStoredWorkspaces(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const repository = async (store: Store, tenantId: string): Promise<RepositoryId> => {
    const { id } = await store.repositories.add({ id: newRepositoryId(), tenantId, hostId: 'h', location: LOCATION })
    return id
  }
  const insert = (
    store: Store,
    tenantId: string,
    repositoryId: RepositoryId,
    change: Partial<NewWorkspace> = {},
  ): Promise<WorkspaceRecord> =>
    store.workspaces.insert({
      id: newWorkspaceId(),
      tenantId,
      hostId: 'h',
      repositoryId,
      seedId: null,
      volumeId: newVolumeId(),
      branch: 'b',
      base: BASE,
      lifetime: 'durable',
      diskBytes: 1000,
      ...change,
    })

  it('knows a repository of one address once in a tenant, with what was said of it last', async () => {
    const { store, tenant } = fixture()
    const [own, other] = [await tenant(), await tenant()]
    const id = await repository(store, own.id)
    expect(await repository(store, own.id)).toBe(id)
    expect(await repository(store, other.id)).not.toBe(id)
    const location = { ...LOCATION, secret: 'forge' }
    await store.repositories.add({ id: newRepositoryId(), tenantId: own.id, hostId: 'h', location })
    expect(await store.repositories.find(own.id, id)).toMatchObject({ state: 'cloning', secret: 'forge', bytes: 0 })
    // Its address alone means it as it is known.
    expect(await repository(store, own.id)).toBe(id)
    expect(await store.repositories.find(own.id, id)).toMatchObject({ secret: 'forge' })
    expect(await store.repositories.find(other.id, id)).toBeNull()
  })

  it('keeps the first key of a server, for each tenant, until it is forgotten', async () => {
    const { store, tenant } = fixture()
    const [own, other] = [(await tenant()).id, (await tenant()).id]
    expect(await store.hostKeys.find(own, 'h')).toBeNull()
    const pins = ['one', 'two'].map((key) => store.hostKeys.pin(own, 'h', key))
    const [first, second] = await Promise.all(pins)
    expect(second).toBe(first)
    expect(await store.hostKeys.find(own, 'h')).toBe(first)
    expect(await store.hostKeys.pin(other, 'h', 'theirs')).toBe('theirs')
    expect(await store.hostKeys.list(own, { limit: 10 })).toMatchObject({
      items: [{ host: 'h', key: first }],
      next: null,
    })
    expect(await store.hostKeys.forget(own, 'h')).toBe(true)
    expect(await store.hostKeys.forget(own, 'h')).toBe(false)
    expect(await store.hostKeys.find(other, 'h')).toBe('theirs')
    const most = BOUNDS.hostKeys
    Object.assign(BOUNDS, { hostKeys: 3 })
    try {
      for (const host of ['a', 'b', 'c']) await store.hostKeys.pin(own, host, 'key')
      await expectRefusal(store.hostKeys.pin(own, 'd', 'key'), 'quota_exceeded')
    } finally {
      Object.assign(BOUNDS, { hostKeys: most })
    }
    expect(await store.hostKeys.find(own, 'd')).toBeNull()
  })

  it('moves a repository along its states alone', async () => {
    const { store, tenant, now } = fixture()
    const { id: tenantId } = await tenant()
    const id = await repository(store, tenantId)
    await expectRefusal(store.repositories.move(id, 'cold'), 'conflict')
    const ready = await store.repositories.move(id, 'ready', { defaultBranch: 'main', bytes: 7, fetchedAt: now() })
    expect(ready).toMatchObject({ state: 'ready', defaultBranch: 'main', bytes: 7, fetchedAt: now() })
    await expectRefusal(store.repositories.move(id, 'failed'), 'conflict')
    expect((await store.sandboxes.usage(tenantId)).diskBytes).toBe(7)
    await store.repositories.move(id, 'deleting')
    await expectRefusal(store.repositories.move(id, 'ready'), 'conflict')
    await store.repositories.forget(id)
    expect(await store.repositories.list(tenantId, { limit: 10 })).toEqual({ items: [], next: null })
  })

  it('gives a workspace to one sandbox as long as that lives, and moves it only while none has it', async () => {
    const { store, tenant, sandbox } = fixture()
    const own = await tenant()
    const { id } = await insert(store, own.id, await repository(store, own.id))
    const [one, other] = [await sandbox(own), await sandbox(own)]
    await expectRefusal(store.workspaces.lease(id, one.id), 'workspace_in_use')
    await store.workspaces.move(id, 'ready')
    await store.workspaces.lease(id, one.id)
    await expectRefusal(store.workspaces.lease(id, other.id), 'workspace_in_use')
    await expectRefusal(store.workspaces.moveFree(id, 'deleting'), 'workspace_in_use')
    expect(await store.workspaces.ofSandbox(one.id)).toMatchObject({ id })
    const deleting = await store.sandboxes.transition(one, 'deleting')
    await store.sandboxes.transition(deleting, 'deleted')
    await store.workspaces.lease(id, other.id)
    expect(await store.workspaces.alive([one.id, other.id])).toEqual(new Set([other.id]))
  })

  it('evicts a workspace, keeps what was saved of it, and counts it no longer', async () => {
    const { store, tenant, now } = fixture()
    const own = await tenant()
    const repositoryId = await repository(store, own.id)
    const made = await insert(store, own.id, repositoryId)
    expect((await store.sandboxes.usage(own.id)).diskBytes).toBe(1000)
    await store.workspaces.move(made.id, 'ready')
    await expectRefusal(store.workspaces.move(made.id, 'evicted'), 'conflict')
    await store.workspaces.moveFree(made.id, 'evicting')
    const rescued = { bytes: 5, at: now() }
    expect(await store.workspaces.move(made.id, 'evicted', { rescued })).toMatchObject({ state: 'evicted', rescued })
    expect((await store.sandboxes.usage(own.id)).diskBytes).toBe(0)
    expect(await store.workspaces.countOf(repositoryId, { evicted: true })).toBe(1)
    expect(await store.workspaces.countOf(repositoryId, { evicted: false })).toBe(0)
    await store.workspaces.forget(made.id)
    expect(await store.workspaces.find(own.id, made.id)).toBeNull()
  })

  it('keeps one checkout of a commit, and gives up those that no workspace is compared with', async () => {
    const { store, tenant, advance, now } = fixture()
    const own = await tenant()
    const repositoryId = await repository(store, own.id)
    const id = newVolumeId()
    expect(await store.seeds.insert({ id, repositoryId, base: BASE, hostId: 'h' })).toMatchObject({ state: 'making' })
    expect(await store.seeds.insert({ id: newVolumeId(), repositoryId, base: BASE, hostId: 'h' })).toBeNull()
    expect(await store.seeds.move(id, 'making', 'ready')).toBe(true)
    expect(await store.seeds.move(id, 'making', 'ready')).toBe(false)
    const workspace = await insert(store, own.id, repositoryId, { seedId: id })
    advance(10)
    expect(await store.seeds.unused('h', now())).toEqual([])
    await store.workspaces.forget(workspace.id)
    expect((await store.seeds.unused('h', now())).map((seed) => seed.id)).toEqual([id])
    expect(await store.seeds.unused('h', now() - 11)).toEqual([])
  })
}
