import { expect, it } from 'vitest'
import { DEFAULT_LIMITS, type Quotas } from '@hearth/contract'
import type { NewSandbox, SandboxRecord, StoreSession } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { newSandbox, useStore, type StoreSuiteOptions } from './store-suite.ts'

export interface QuotaSuiteOptions extends StoreSuiteOptions {
  /** The function of the state that inserts a sandbox within its tenant's quota. */
  readonly createWithinQuota: (session: StoreSession, input: NewSandbox) => Promise<SandboxRecord>
}

const limits = { ...DEFAULT_LIMITS, cpus: 0.5, memoryBytes: 100 * 2 ** 20, diskBytes: 200 * 2 ** 20 }

export function describeQuotas(options: QuotaSuiteOptions): void {
  const fixture = useStore(options)

  it('counts what may have a machine, the disk of what is hibernated, and nothing of what has ended', async () => {
    const { store, tenant, sandbox } = fixture()
    const [owner, other] = [await tenant(), await tenant()]
    await sandbox(other, { limits })
    await sandbox(owner, { limits })
    const stopped = await store.sandboxes.transition(await sandbox(owner, { limits }), 'running')
    await store.sandboxes.transition(stopped, 'stopped')
    await store.sandboxes.transition(await sandbox(owner, { limits }), 'failed')
    expect(await store.sandboxes.usage(owner.id)).toEqual({
      sandboxes: 1,
      cpus: 0.5,
      memoryBytes: limits.memoryBytes,
      diskBytes: limits.diskBytes,
      snapshots: 0,
      volumes: 0,
    })
    const running = await store.sandboxes.transition(await sandbox(owner, { limits }), 'running')
    const hibernating = await store.sandboxes.transition(running, 'hibernating')
    const hibernation = { memory: false, reason: 'none' } as const
    const asleep = await store.sandboxes.transition(hibernating, 'hibernated', { hibernation })
    expect(await store.sandboxes.get(asleep.id)).toMatchObject({ hibernation })
    const held = { sandboxes: 1, cpus: 0.5, memoryBytes: limits.memoryBytes, diskBytes: 2 * limits.diskBytes }
    expect(await store.sandboxes.usage(owner.id)).toEqual({ ...held, snapshots: 0, volumes: 0 })
    // Its processes are on the disk too, where they are kept.
    const waking = await store.sandboxes.transition(asleep, 'waking')
    const kept = { memory: true, reason: null } as const
    await store.sandboxes.transition(waking, 'hibernated', { hibernation: kept })
    const withMemory = { ...held, diskBytes: 2 * limits.diskBytes + limits.memoryBytes }
    expect(await store.sandboxes.usage(owner.id)).toEqual({ ...withMemory, snapshots: 0, volumes: 0 })
    expect(await store.sandboxes.usage('tn_none')).toEqual({
      sandboxes: 0,
      cpus: 0,
      memoryBytes: 0,
      diskBytes: 0,
      snapshots: 0,
      volumes: 0,
    })
  })

  const bounds: Partial<Quotas>[] = [
    { sandboxes: 2 },
    { cpus: 1.2 },
    { memoryBytes: 2 * limits.memoryBytes },
    { diskBytes: 3 * limits.diskBytes - 1 },
  ]
  it.each(bounds)('refuses what would go beyond %o', async (quotas) => {
    const { store, tenant, now } = fixture()
    const owner = await tenant(quotas)
    const create = (): Promise<SandboxRecord> =>
      store.transaction((session) => options.createWithinQuota(session, newSandbox(owner, now(), { limits })))
    await create()
    const second = await create()
    const error = await expectRefusal(create(), 'quota_exceeded')
    expect(error.context).toMatchObject({ quota: Object.keys(quotas)[0] })
    await store.sandboxes.transition(await store.sandboxes.transition(second, 'deleting'), 'deleted')
    await create()
  })

  it('holds when many are created at once on several connections', async () => {
    const { store, connect, tenant, now } = fixture()
    const stores = [store, await connect(), await connect()]
    const owner = await tenant({ sandboxes: 5 })
    const attempts = Array.from({ length: 24 }, (_, index) =>
      (stores[index % 3] ?? store).transaction((session) =>
        options.createWithinQuota(session, newSandbox(owner, now(), { limits })),
      ),
    )
    const outcomes = await Promise.allSettled(attempts)
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as unknown)
    expect(refused).toEqual(Array.from({ length: 19 }, () => expect.objectContaining({ code: 'quota_exceeded' })))
    expect((await store.sandboxes.usage(owner.id)).sandboxes).toBe(5)
  })
}
