import { expect, it } from 'vitest'
import { newSandboxId } from '@hearth/contract'
import type { Operation, Store } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const lease = { owner: 'server-1', leaseMs: 1000 }

export function describeOperations(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  const begin = async (
    store: Store,
    change: Partial<Parameters<Store['operations']['begin']>[0]> = {},
  ): Promise<Operation> => {
    const tenantId = (await store.tenants.list()).items[0]?.id ?? (await fixture().tenant()).id
    return (await store.operations.begin({ tenantId, kind: 'create', ...change })).operation
  }

  const claimOne = async (store: Store, owner = lease.owner): Promise<Operation> => {
    const [operation] = await store.operations.claim({ owner, leaseMs: lease.leaseMs })
    if (operation === undefined) expect.fail('nothing to claim')
    return operation
  }

  it('goes from pending through its steps to done', async () => {
    const { store, now, tenant } = fixture()
    const { id: tenantId } = await tenant()
    const sandboxId = newSandboxId()
    const begun = await begin(store, { tenantId, sandboxId, request: { template: 'host' } })
    expect(begun).toMatchObject({ kind: 'create', state: 'pending', attempts: 0, owner: null, step: null, sandboxId })
    const claimed = await claimOne(store)
    expect(claimed).toEqual({ ...begun, state: 'running', owner: 'server-1', leaseUntil: now() + 1000, attempts: 1 })
    expect((await store.operations.recordStep(claimed, 'launch', 'before')).step).toBe('launch:before')
    const launched = await store.operations.recordStep(claimed, 'launch', 'after', { pid: 7 })
    expect(launched).toMatchObject({ step: 'launch:after', result: { pid: 7 }, state: 'running' })
    expect(await store.operations.unfinished(sandboxId)).toEqual([launched])
    const done = await store.operations.finish(claimed, 'done', { result: { id: sandboxId } })
    expect(done).toMatchObject({ state: 'done', result: { id: sandboxId }, error: null, owner: null, leaseUntil: null })
    expect(await store.operations.get(begun.id, tenantId)).toEqual(done)
    expect(await store.operations.unfinished(sandboxId)).toEqual([])
    await expectRefusal(store.operations.finish(claimed, 'failed'), 'conflict')
    await expectRefusal(store.operations.get(begun.id, 'tn_other'), 'not_found')
  })

  it('is claimed in the statement that begins it', async () => {
    const { store, now } = fixture()
    const operation = await begin(store, { claim: lease })
    expect(operation).toMatchObject({ state: 'running', owner: 'server-1', leaseUntil: now() + 1000, attempts: 1 })
    expect(await store.operations.claim(lease)).toEqual([])
    await store.operations.finish(operation, 'undone', { error: { code: 'launch_failed' } })
  })

  it('is claimed anew when its lease has run out, and the first holder can no longer write', async () => {
    const { store, advance } = fixture()
    const operation = await begin(store, { claim: lease })
    advance(500)
    await store.operations.renew(operation, 1000)
    advance(999)
    expect(await store.operations.expired(10)).toEqual([])
    expect(await store.operations.claim({ ...lease, owner: 'server-2' })).toEqual([])
    advance(1)
    expect((await store.operations.expired(10)).map(({ id }) => id)).toEqual([operation.id])
    const taken = await claimOne(store, 'server-2')
    expect(taken).toMatchObject({ id: operation.id, owner: 'server-2', attempts: 2 })
    await expectRefusal(store.operations.renew(operation, 1000), 'conflict')
    await expectRefusal(store.operations.recordStep(operation, 'launch', 'after'), 'conflict')
    await expectRefusal(store.operations.release(operation), 'conflict')
    await expectRefusal(store.operations.finish(operation, 'done'), 'conflict')
    await store.operations.finish(taken, 'done')
  })

  it('fences the same owner after it lost and took the lease again', async () => {
    const { store, advance } = fixture()
    const first = await begin(store, { claim: lease })
    advance(1000)
    const second = await claimOne(store)
    await expectRefusal(store.operations.recordStep(first, 'launch', 'after'), 'conflict')
    await store.operations.recordStep(second, 'launch', 'after')
  })

  it('renews a lease that ran out while nobody else wanted it', async () => {
    const { store, advance, now } = fixture()
    const operation = await begin(store, { claim: lease })
    advance(5000)
    expect(await store.operations.renew(operation, 1000)).toMatchObject({ leaseUntil: now() + 1000, attempts: 1 })
  })

  it('is released for another attempt, at once or later', async () => {
    const { store, advance } = fixture()
    const operation = await begin(store, { claim: lease })
    const released = await store.operations.release(operation, { delayMs: 100, error: { code: 'timeout' } })
    expect(released).toMatchObject({ state: 'pending', owner: null, error: { code: 'timeout' } })
    expect(await store.operations.claim(lease)).toEqual([])
    advance(100)
    const again = await claimOne(store)
    expect(again.attempts).toBe(2)
    await store.operations.release(again)
    expect((await claimOne(store)).attempts).toBe(3)
  })

  it('gives back what a dead server held, its other operations excepted', async () => {
    const { store } = fixture()
    const held = await begin(store, { claim: lease })
    const other = await begin(store, { claim: { ...lease, owner: 'server-2' } })
    await store.operations.finish(await begin(store, { claim: lease }), 'done')
    expect(await store.operations.releaseOwner('server-1')).toBe(1)
    expect((await store.operations.get(held.id)).state).toBe('pending')
    expect((await store.operations.get(other.id)).state).toBe('running')
  })

  it('claims the oldest first, only the kinds asked for, and no more than asked', async () => {
    const { store, advance } = fixture()
    const ids: string[] = []
    for (const kind of ['create', 'delete', 'create', 'create']) {
      ids.push((await begin(store, { kind })).id)
      advance(1)
    }
    const creates = await store.operations.claim({ ...lease, kinds: ['create'], limit: 2 })
    expect(creates.map(({ id }) => id)).toEqual([ids[0], ids[2]])
    expect((await store.operations.claim({ ...lease, limit: 10 })).map(({ id }) => id)).toEqual([ids[1], ids[3]])
    expect(await store.operations.claim({ ...lease, kinds: [] })).toEqual([])
  })

  it('forgets finished ones when they are old', async () => {
    const { store, advance, now } = fixture()
    const done = await begin(store, { claim: lease, idempotencyKey: 'k' })
    const open = await begin(store)
    await store.operations.finish(done, 'done')
    advance(10)
    expect(await store.operations.purge(now() - 10)).toBe(0)
    expect(await store.operations.purge(now())).toBe(1)
    await expectRefusal(store.operations.get(done.id), 'not_found')
    expect((await store.operations.get(open.id)).state).toBe('pending')
  })
}
