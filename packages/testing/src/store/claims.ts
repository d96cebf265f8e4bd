import { expect, it } from 'vitest'
import { newSandboxId, type SandboxId } from '@hearth/contract'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const WORKERS = 8
const OPERATIONS = 400

export function describeClaims(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it(`gives ${OPERATIONS} operations to ${WORKERS} workers, each once`, { timeout: 60_000 }, async () => {
    const { store, connect, tenant } = fixture()
    const { id: tenantId } = await tenant()
    await store.transaction(async ({ operations }) => {
      for (let index = 0; index < OPERATIONS; index++)
        await operations.begin({ tenantId, kind: 'create', request: index })
    })
    const stores = [store, await connect(), await connect(), await connect()]
    const claimed: string[] = []
    const work = async (worker: number): Promise<void> => {
      const { operations } = stores[worker % stores.length] ?? store
      for (;;) {
        const batch = await operations.claim({ owner: `worker-${worker}`, leaseMs: 60_000, limit: 1 + (worker % 3) })
        if (batch.length === 0) return
        claimed.push(...batch.map(({ id }) => id))
        for (const operation of batch) await operations.finish(operation, 'done', { result: worker })
      }
    }
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)))
    expect(claimed).toHaveLength(OPERATIONS)
    expect(new Set(claimed).size).toBe(OPERATIONS)
    for (const id of claimed.slice(0, 20)) {
      expect(await store.operations.get(id)).toMatchObject({ state: 'done', attempts: 1 })
    }
  })

  it('leaves what lies on another host to the server there', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    const begin = async (sandboxId: SandboxId | null): Promise<string> =>
      (await store.operations.begin({ tenantId: owner.id, kind: 'delete', sandboxId })).operation.id
    const here = await begin((await sandbox(owner, { hostId: 'host-1' })).id)
    const there = await begin((await sandbox(owner, { hostId: 'host-2' })).id)
    const nowhere = [await begin(null), await begin((await sandbox(owner)).id), await begin(newSandboxId())]
    const claim = async (hostId: string): Promise<string[]> => {
      const claimed = await store.operations.claim({ owner: hostId, leaseMs: 1000, limit: 10, hostId })
      return claimed.map(({ id }) => id)
    }
    expect((await claim('host-1')).toSorted()).toEqual([here, ...nowhere].toSorted())
    expect(await claim('host-1')).toEqual([])
    expect(await claim('host-2')).toEqual([there])
  })

  it('begins one operation for one idempotency key, however many ask at once', async () => {
    const { store, connect, tenant } = fixture()
    const stores = [store, await connect(), await connect()]
    const { id: tenantId } = await tenant()
    const begin = (index: number) =>
      (stores[index % 3] ?? store).operations.begin({
        tenantId,
        kind: 'create',
        idempotencyKey: 'key',
        // The same request whatever the order of its keys.
        request: index % 2 === 0 ? { a: 1, b: { c: 2, d: 3 } } : { b: { d: 3, c: 2 }, a: 1 },
      })
    const begun = await Promise.all(Array.from({ length: 12 }, (_, index) => begin(index)))
    expect(begun.filter(({ created }) => created)).toHaveLength(1)
    expect(new Set(begun.map(({ operation }) => operation.id)).size).toBe(1)
  })

  it('refuses a key for another request, and keeps keys of other kinds and tenants apart', async () => {
    const { store, tenant } = fixture()
    const [one, two] = [await tenant(), await tenant()]
    const key = { kind: 'create', idempotencyKey: 'key', request: { a: 1 } }
    const first = await store.operations.begin({
      tenantId: one.id,
      ...key,
      claim: { owner: 'server-1', leaseMs: 1000 },
    })
    await expectRefusal(store.operations.begin({ tenantId: one.id, ...key, request: { a: 2 } }), 'idempotency_conflict')
    await store.operations.finish(first.operation, 'done', { result: { id: 'x' } })
    const repeated = await store.operations.begin({ tenantId: one.id, ...key })
    expect(repeated).toMatchObject({ created: false, operation: { state: 'done', result: { id: 'x' } } })
    expect((await store.operations.begin({ tenantId: two.id, ...key, request: { a: 2 } })).created).toBe(true)
    expect((await store.operations.begin({ tenantId: one.id, ...key, kind: 'fork' })).created).toBe(true)
    const without = { tenantId: one.id, kind: 'create' }
    expect((await store.operations.begin(without)).created).toBe(true)
    expect((await store.operations.begin(without)).created).toBe(true)
  })
}
