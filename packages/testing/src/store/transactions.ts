import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeTransactions(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('keeps a change and its event together', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    const record = await store.transaction(async (session) => {
      const made = await sandbox(owner, { metadata: { a: 'b' } }, session)
      await session.events.append({ tenantId: owner.id, sandboxId: made.id, type: 'sandbox.creating' })
      expect((await session.events.page()).events).toEqual([])
      expect(await session.sandboxes.get(made.id)).toEqual(made)
      return made
    })
    expect((await store.events.page()).events).toMatchObject([{ sandboxId: record.id, type: 'sandbox.creating' }])
  })

  it('leaves nothing behind when it fails, not even a number', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    const failing = store.transaction(async (session) => {
      await sandbox(owner, { metadata: { a: 'b' } }, session)
      await session.operations.begin({ tenantId: owner.id, kind: 'create', idempotencyKey: 'key' })
      await session.events.append({ tenantId: owner.id, type: 'sandbox.creating' })
      throw new Error('on purpose')
    })
    await expect(failing).rejects.toThrow('on purpose')
    expect((await store.sandboxes.list()).items).toEqual([])
    expect((await store.operations.begin({ tenantId: owner.id, kind: 'create', idempotencyKey: 'key' })).created).toBe(
      true,
    )
    await store.events.append({ tenantId: owner.id, type: 'next' })
    expect((await store.events.page()).events).toMatchObject([{ seq: 1, type: 'next' }])
  })

  it('undoes the change when the other half is refused', async () => {
    const { store, tenant, sandbox, advance } = fixture()
    const owner = await tenant()
    const record = await sandbox(owner)
    const { operation } = await store.operations.begin({
      tenantId: owner.id,
      kind: 'create',
      claim: { owner: 'a', leaseMs: 1 },
    })
    advance(1)
    await store.operations.claim({ owner: 'b', leaseMs: 1000 })
    const lost = store.transaction(async (session) => {
      await session.sandboxes.transition(record, 'running')
      await session.operations.finish(operation, 'done')
    })
    await expectRefusal(lost, 'conflict')
    expect(await store.sandboxes.get(record.id)).toEqual(record)
  })

  it('refuses the store itself inside a transaction instead of waiting for ever', async () => {
    const { store, tenant, sandbox } = fixture()
    const record = await sandbox(await tenant())
    const attempts: (() => Promise<unknown>)[] = [
      () => store.sandboxes.get(record.id),
      () => store.sandboxes.touch(record.id, 2 ** 50),
      () => store.transaction(async () => undefined),
      () => store.events.append({ tenantId: 'a', type: 'x' }),
    ]
    for (const attempt of attempts) await expectRefusal(store.transaction(attempt), 'internal')
    expect(await store.sandboxes.get(record.id)).toEqual(record)
  })

  it('does not refuse what a transaction started and did not wait for', async () => {
    const { store, tenant, sandbox } = fixture()
    const record = await sandbox(await tenant())
    let later: Promise<unknown> = Promise.resolve()
    await store.transaction(async () => {
      later = new Promise((resolve) => setTimeout(resolve, 20)).then(() => store.sandboxes.get(record.id))
    })
    expect(await later).toEqual(record)
  })

  it('migrates once when several open an empty database at the same time', async () => {
    await using database = await options.open()
    const stores = await Promise.all(Array.from({ length: 4 }, () => database.connect()))
    const [first] = stores
    const tenant = await first?.tenants.create({ name: 'one' })
    for (const store of stores) {
      await store.ping()
      expect((await store.tenants.list()).items).toEqual([tenant])
    }
    await Promise.all(stores.map((store) => store.close()))
  })

  it('closes more than once, and refuses what comes after', async () => {
    const { store } = fixture()
    await Promise.all([store.close(), store.close()])
    await expect(store.tenants.list()).rejects.toThrow(/destroyed/)
    await expect(store.ping()).rejects.toThrow(/destroyed/)
  })
}
