import { expect, it } from 'vitest'
import type { SandboxRecord } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeRaces(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('lets one of many win a change from the same version, on several connections', async () => {
    const { store, connect, tenant, sandbox } = fixture()
    const stores = [store, await connect(), await connect(), await connect()]
    let record = await store.sandboxes.transition(await sandbox(await tenant()), 'running')
    for (let round = 0; round < 10; round++) {
      const present = record
      const attempts = Array.from({ length: 12 }, (_, index) => {
        const { sandboxes } = stores[index % stores.length] ?? store
        return index % 2 === 0
          ? sandboxes.update(present, { expiresAt: round * 100 + index })
          : sandboxes.update(present, { endReason: `${round} ${index}` })
      })
      const outcomes = await Promise.allSettled(attempts)
      const won = outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value)
      const lost = outcomes.filter((outcome) => outcome.status === 'rejected').map(({ reason }) => reason as unknown)
      expect(won).toHaveLength(1)
      expect(lost).toEqual(lost.map(() => expect.objectContaining({ code: 'conflict', retryable: true })))
      record = await store.sandboxes.get(present.id)
      expect(record).toEqual(won[0])
      expect(record.version).toBe(present.version + 1)
    }
  })

  it('gives a pause and a delete at the same time to one of them', async () => {
    const { store, connect, tenant, sandbox } = fixture()
    const other = await connect()
    const owner = await tenant()
    for (let round = 0; round < 10; round++) {
      const record = await store.sandboxes.transition(await sandbox(owner), 'running')
      const outcomes = await Promise.allSettled([
        store.sandboxes.transition(record, 'pausing'),
        other.sandboxes.transition(record, 'deleting'),
      ])
      expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    }
  })

  it('is not fooled by a state that was left and entered again', async () => {
    const { store, tenant, sandbox } = fixture()
    const running = await store.sandboxes.transition(await sandbox(await tenant()), 'running')
    let record: SandboxRecord = running
    for (const state of ['pausing', 'paused', 'resuming', 'running'] as const) {
      record = await store.sandboxes.transition(record, state)
    }
    const error = await expectRefusal(store.sandboxes.transition(running, 'stopping'), 'conflict')
    expect(error.context).toMatchObject({ state: 'running', version: record.version })
  })

  it('counts concurrent changes from every connection, and loses none', async () => {
    const { store, connect, tenant, sandbox } = fixture()
    const stores = [store, await connect(), await connect()]
    const { id, version } = await sandbox(await tenant())
    const worker = async (mine: typeof store): Promise<void> => {
      for (let done = 0; done < 15;) {
        const present = await mine.sandboxes.get(id)
        const won = await mine.sandboxes.update(present, { endReason: 'x' }).then(
          () => true,
          (error: { code?: string }) => {
            expect(error.code).toBe('conflict')
            return false
          },
        )
        if (won) done++
      }
    }
    await Promise.all(stores.map(worker))
    expect((await store.sandboxes.get(id)).version).toBe(version + 45)
  })
}
