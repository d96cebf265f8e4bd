import { expect, it } from 'vitest'
import { BOUNDS, DEFAULT_LIMITS, newSandboxId, newSnapshotId, SANDBOX_STATES } from '@hearth/contract'
import { expectRefusal } from '../support/expectations.ts'
import type { SandboxRecord } from '@hearth/server/state'
import { newSandbox, useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeSandboxes(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('refuses what the transition table does not have, and changes nothing', async () => {
    const { store, tenant, sandbox } = fixture()
    const created = await sandbox(await tenant())
    for (const to of SANDBOX_STATES.filter((state) => !['running', 'failed', 'deleting'].includes(state))) {
      const error = await expectRefusal(store.sandboxes.transition(created, to), 'invalid_state')
      expect(error.context).toEqual({ from: 'creating', to })
    }
    expect(await store.sandboxes.get(created.id)).toEqual(created)
  })

  it('gives back all that was written', async () => {
    const { store, tenant, now } = fixture()
    const owner = await tenant()
    const parentId = newSandboxId()
    const originId = newSnapshotId()
    const input = newSandbox(owner, now(), {
      id: newSandboxId(),
      metadata: { user: 'ä"\'\\%_', empty: '' },
      limits: { ...DEFAULT_LIMITS, memoryBytes: 2 ** 40, cpus: 0.1 },
      spec: { env: { TEXT: '\u{1f525}\n' } },
      idle: { ms: 5000, action: 'pause' },
      parentId,
      originId,
      hostId: 'host-a',
    })
    const record = await store.sandboxes.insert(input)
    expect(record).toEqual({
      id: input.id,
      tenantId: owner.id,
      state: 'creating',
      rung: 'process',
      driver: 'bubblewrap 0.8.0',
      template: 'host',
      spec: input.spec,
      limits: input.limits,
      metadata: input.metadata,
      createdAt: now(),
      expiresAt: now() + 60_000,
      idleMs: 5000,
      idleAction: 'pause',
      persistent: false,
      parentId,
      originId,
      hostId: 'host-a',
      hibernation: null,
      restored: null,
      holder: null,
      lastActiveAt: now(),
      endedAt: null,
      endReason: null,
      version: 1,
    })
    expect(await store.sandboxes.get(record.id, owner.id)).toEqual(record)
  })

  it('is not found by another tenant', async () => {
    const { store, tenant, sandbox } = fixture()
    const [mine, theirs] = [await tenant(), await tenant()]
    const record = await sandbox(mine)
    const error = await expectRefusal(store.sandboxes.get(record.id, theirs.id), 'sandbox_not_found')
    const absent = await expectRefusal(store.sandboxes.get(newSandboxId(), theirs.id), 'sandbox_not_found')
    expect(error.message.replace(record.id, '')).toBe(absent.message.replace(/sb_\w+/, ''))
  })

  it('lives through its states, with a version for each change', async () => {
    const { store, tenant, sandbox, advance, now } = fixture()
    let record = await sandbox(await tenant())
    record = await store.sandboxes.transition(record, 'running', { driver: 'bubblewrap 0.9.0', hostId: 'host-b' })
    expect(record).toMatchObject({ state: 'running', driver: 'bubblewrap 0.9.0', hostId: 'host-b', version: 2 })
    record = await store.sandboxes.update(record, { expiresAt: null })
    expect(record).toMatchObject({ expiresAt: null, persistent: true, version: 3 })
    record = await store.sandboxes.update(record, { expiresAt: now() + 5, idle: { ms: 1, action: 'kill' } })
    expect(record).toMatchObject({ expiresAt: now() + 5, persistent: false, idleMs: 1, idleAction: 'kill', version: 4 })
    for (const state of ['pausing', 'paused', 'resuming', 'running', 'stopping'] as const) {
      record = await store.sandboxes.transition(record, state)
    }
    advance(7)
    record = await store.sandboxes.transition(record, 'stopped', { endedAt: now(), endReason: 'stopped by the user' })
    expect(record).toMatchObject({ version: 10, endedAt: now(), endReason: 'stopped by the user' })
    expect(await store.sandboxes.get(record.id)).toEqual(record)
  })

  it('leaves nothing of a deleted one to be seen, and never takes its identifier again', async () => {
    const { store, tenant, sandbox, advance, now } = fixture()
    const owner = await tenant()
    const record = await sandbox(owner, { metadata: { a: 'b' } })
    const deleting = await store.sandboxes.transition(record, 'deleting')
    const deleted = await store.sandboxes.transition(deleting, 'deleted')
    await expectRefusal(store.sandboxes.get(record.id), 'sandbox_not_found')
    expect(await store.sandboxes.find(record.id)).toBeNull()
    expect((await store.sandboxes.list({ tenantId: owner.id })).items).toEqual([])
    expect((await store.sandboxes.list({ metadata: { a: 'b' } })).items).toEqual([])
    expect((await store.sandboxes.list({ states: ['deleted'] })).items).toEqual([])
    expect(await store.sandboxes.usage(owner.id)).toEqual({
      sandboxes: 0,
      cpus: 0,
      memoryBytes: 0,
      diskBytes: 0,
      snapshots: 0,
      volumes: 0,
    })
    await expectRefusal(sandbox(owner, { id: record.id }), 'conflict')
    await expectRefusal(store.sandboxes.update(deleted, { expiresAt: 1 }), 'sandbox_not_found')
    await expectRefusal(store.sandboxes.transition(deleting, 'deleted'), 'sandbox_not_found')
    advance(10)
    expect(await store.sandboxes.purge(now() - 10)).toBe(0)
    expect(await store.sandboxes.purge(now())).toBe(1)
  })

  it('remembers what a living sandbox was forked from, however old, up to a bound', async () => {
    const { store, tenant, sandbox, now, advance } = fixture()
    const owner = await tenant()
    const end = async (record: SandboxRecord): Promise<void> => {
      await store.sandboxes.transition(await store.sandboxes.transition(record, 'deleting'), 'deleted')
    }
    let last = await sandbox(owner)
    const chain = [last]
    for (let level = 0; level <= BOUNDS.ancestors; level++) {
      advance(1)
      const child = await sandbox(owner, { parentId: last.id })
      await end(last)
      chain.push(child)
      last = child
    }
    advance(10)
    expect(await store.sandboxes.purge(now())).toBe(1)
    const lineage = await store.sandboxes.lineage(owner.id, last.id)
    expect(lineage.map(({ id }) => id)).toEqual(chain.slice(1).map(({ id }) => id))
    await end(last)
    advance(10)
    expect(await store.sandboxes.purge(now())).toBe(BOUNDS.ancestors + 1)
  })

  it('tells who was forked from whom up to a bound', async () => {
    const { store, tenant, sandbox, now } = fixture()
    const owner = await tenant()
    const parent = await sandbox(owner)
    await store.transaction(async (session) => {
      for (let child = 1; child < BOUNDS.lineage; child++)
        await session.sandboxes.insert(newSandbox(owner, now(), { parentId: parent.id }))
    })
    expect(await store.sandboxes.lineage(owner.id, parent.id)).toHaveLength(BOUNDS.lineage)
    await sandbox(owner, { parentId: parent.id })
    await expectRefusal(store.sandboxes.lineage(owner.id, parent.id), 'too_many')
  }, 60_000)

  it('moves activity forwards only, without a new version', async () => {
    const { store, tenant, sandbox, now } = fixture()
    const record = await sandbox(await tenant())
    await store.sandboxes.touch(record.id, now() + 50)
    await store.sandboxes.touch(record.id, now() + 20)
    expect(await store.sandboxes.get(record.id)).toEqual({ ...record, lastActiveAt: now() + 50 })
    await store.sandboxes.transition(record, 'running')
  })

  it('finds those past their deadline, the most overdue first', async () => {
    const { store, tenant, sandbox, now } = fixture()
    const owner = await tenant()
    const late = await sandbox(owner, { expiresAt: now() - 1 })
    const later = await sandbox(owner, { expiresAt: now() - 9 })
    await sandbox(owner, { expiresAt: now() + 1 })
    await sandbox(owner, { expiresAt: null })
    const ended = await sandbox(owner, { expiresAt: now() - 5 })
    await store.sandboxes.transition(ended, 'failed')
    expect((await store.sandboxes.overdue(10)).map(({ id }) => id)).toEqual([later.id, late.id])
    expect((await store.sandboxes.overdue(1)).map(({ id }) => id)).toEqual([later.id])
    expect(await store.sandboxes.overdue(10, now() - 10)).toEqual([])
  })

  it('finds those that are idle', async () => {
    const { store, tenant, sandbox, advance } = fixture()
    const owner = await tenant()
    const running = async (idle: { ms: number; action: 'pause' } | null) =>
      await store.sandboxes.transition(await sandbox(owner, { idle }), 'running')
    const idle = await running({ ms: 100, action: 'pause' })
    const busy = await running({ ms: 100, action: 'pause' })
    await running(null)
    await sandbox(owner, { idle: { ms: 100, action: 'kill' } })
    advance(100)
    await store.sandboxes.touch(busy.id)
    expect((await store.sandboxes.idle(10)).map(({ id }) => id)).toEqual([idle.id])
  })
}
