import { expect, it } from 'vitest'
import { newSandboxId, newVolumeId } from '@hearth/contract'
import type { NewVolume, Tenant, VolumeRecord } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

function newVolume(tenant: Tenant, change: Partial<NewVolume> = {}): NewVolume {
  return { id: newVolumeId(), tenantId: tenant.id, hostId: 'here', diskBytes: 50, ...change }
}

export function describeStoredVolumes(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const make = async (tenant: Tenant, change: Partial<NewVolume> = {}): Promise<VolumeRecord> => {
    const { volumes } = fixture().store
    const record = await volumes.insert(newVolume(tenant, change))
    expect(await volumes.move(record.id, 'creating', 'ready')).toBe(true)
    return { ...record, state: 'ready' }
  }

  it('is found by identifier and name when it is made, and by its tenant alone', async () => {
    const { store, tenant } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const begun = await store.volumes.insert(newVolume(mine, { name: 'data' }))
    expect(begun).toMatchObject({ state: 'creating', lifetime: 'durable', sandboxId: null, workspaceId: null })
    expect(await store.volumes.find(mine.id, 'data')).toBeNull()
    await store.volumes.move(begun.id, 'creating', 'ready')
    for (const name of [begun.id, 'data']) {
      expect(await store.volumes.find(mine.id, name)).toEqual({ ...begun, state: 'ready' })
      expect(await store.volumes.find(theirs.id, name)).toBeNull()
    }
    await expectRefusal(store.volumes.insert(newVolume(mine, { name: 'data' })), 'conflict')
    await make(theirs, { name: 'data' })
    await Promise.all([make(mine), make(mine)])
  })

  it('changes its state as the table says, and once', async () => {
    const { store, tenant } = fixture()
    const { id } = await make(await tenant())
    const moves = await Promise.all([1, 2, 3].map(() => store.volumes.move(id, 'ready', 'deleting')))
    expect(moves.filter(Boolean)).toHaveLength(1)
    expect(await store.volumes.move(id, 'ready', 'lost')).toBe(false)
    await expectRefusal(store.volumes.move(id, 'deleting', 'lost'), 'invalid_state')
    expect(await store.volumes.move(id, 'deleting', 'ready')).toBe(true)
    expect((await store.volumes.get(id))?.state).toBe('ready')
    await store.volumes.forget(id)
    expect(await store.volumes.get(id)).toBeNull()
  })

  it('belongs to a host, and to a sandbox until it is kept', async () => {
    const { store, tenant } = fixture()
    const owner = await tenant()
    const sandboxId = newSandboxId()
    const host = `host-${sandboxId}`
    const first = await make(owner, { hostId: host, sandboxId })
    const second = await make(owner, { hostId: host })
    expect([first.lifetime, second.lifetime]).toEqual(['sandbox', 'durable'])
    expect((await store.volumes.ofHost(host)).map(({ id }) => id).toSorted()).toEqual([first.id, second.id].toSorted())
    expect(await store.volumes.ofSandbox(sandboxId)).toEqual([first])
    await store.volumes.keep(first.id)
    expect(await store.volumes.ofSandbox(sandboxId)).toEqual([])
    expect(await store.volumes.get(first.id)).toMatchObject({ lifetime: 'durable', sandboxId: null })
  })

  it('is listed in pages, and counts as long as it is there', async () => {
    const { store, tenant, advance } = fixture()
    const owner = await tenant()
    const made: VolumeRecord[] = []
    for (let index = 0; index < 5; index++) {
      made.push(await make(owner))
      advance(index % 2)
    }
    const begun = await store.volumes.insert(newVolume(owner))
    const first = await store.volumes.list(owner.id, { limit: 3 })
    const second = await store.volumes.list(owner.id, { limit: 3, cursor: first.next ?? '' })
    const listed = [...first.items, ...second.items].map(({ id }) => id)
    expect(new Set(listed)).toEqual(new Set(made.map(({ id }) => id)))
    expect([listed.length, second.next]).toEqual([5, null])
    expect(await store.sandboxes.usage(owner.id)).toMatchObject({ sandboxes: 0, volumes: 6, diskBytes: 300 })
    await store.volumes.forget(begun.id)
    expect(await store.sandboxes.usage(owner.id)).toMatchObject({ volumes: 5, diskBytes: 250 })
  })
}
