import { ChainReader, headIsSigned, type EventView, type RecordVerdict } from '@hearth/contract'
import type { Store } from '@hearth/server/state'
import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const KEY = Buffer.alloc(32, 1)
const OTHER_KEY = Buffer.alloc(32, 2)

/** What somebody who has the database, but not the server, might do to the entries 1 to 6 of the sandbox x. */
const TAMPERINGS: Readonly<Record<string, string>> = {
  'edits an entry': `update events set data = '{"n":9}' where seq = 3`,
  'edits the time of an entry': `update events set at = at + 1 where seq = 3`,
  'renames an entry': `update events set type = 'harmless' where seq = 3`,
  'removes an entry from the middle': 'delete from events where seq = 3',
  'removes the first entry': 'delete from events where seq = 1',
  'removes the last entry': 'delete from events where seq = 6',
  'removes everything': "delete from events where sandbox_id = 'x'",
  'exchanges two entries':
    'update events set seq = 99 where seq = 3; update events set seq = 3 where seq = 4; update events set seq = 4 where seq = 99',
  'adds an entry': `insert into events (seq, tenant_id, sandbox_id, at, type, data, hash)
    select 7, tenant_id, sandbox_id, at, type, data, hash from events where seq = 6;
    update event_chains set seq = 7`,
  'moves an entry to another sandbox': "update events set sandbox_id = 'y' where seq = 3",
  'takes the hashes away': 'update events set hash = null',
  'cuts the end off and says so': `delete from events where seq > 4;
    update event_chains set seq = 4, length = 4, hash = (select hash from events where seq = 4)`,
  'takes the signature away': 'update event_chains set signature = null',
  'puts another signature there': `update event_chains set signature = 'AAAA'`,
}

export function describeRecord(options: StoreSuiteOptions): void {
  const fixture = useStore(options)
  const write = async (store: Store, count = 6, sandboxId = 'x'): Promise<void> => {
    for (let n = 1; n <= count; n++) {
      await store.events.append({ tenantId: 'a', sandboxId, type: `event.${n}`, data: { n, text: 'ä\0\ud800' } })
    }
  }
  const verdict = (store: Store): Promise<RecordVerdict> => store.events.verify('a', 'x')

  it('chains what is written of each sandbox, and finds it whole', async () => {
    const { store: unsigned, connect } = fixture()
    const store = await connect(KEY)
    await write(store)
    await store.events.append(
      { tenantId: 'a', sandboxId: 'y', type: 'y' },
      { tenantId: 'a', sandboxId: 'x', type: 'more' },
      { tenantId: 'a', type: 'of no sandbox' },
    )
    const found = await verdict(store)
    expect(found).toMatchObject({ valid: true, problem: null, entries: 7, dropped: null })
    expect(found.head).toMatchObject({
      sandbox: 'x',
      length: 7,
      seq: 8,
      publicKey: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(headIsSigned(found.head, found.head.publicKey ?? '')).toBe(true)
    expect(headIsSigned(found.head, '0'.repeat(64))).toBe(false)
    expect(await (await connect(KEY)).events.verify('a', 'y')).toMatchObject({ valid: true })
    // What a page shows is all that is needed to verify it elsewhere.
    const reader = new ChainReader('x', null)
    for (const { seq, at, type, data, hash } of (await store.events.page({ sandboxId: 'x' })).events) {
      const told = JSON.stringify({ hash, seq, data, at: new Date(at).toISOString(), sandbox: 'x', type })
      reader.add(JSON.parse(told) as EventView)
    }
    expect(reader.finish(found.head, 0)).toBeNull()
    expect(await verdict(unsigned)).toMatchObject({ valid: true })
    await expectRefusal(store.events.verify('b', 'x'), 'sandbox_not_found')
    await expectRefusal(store.events.verify('a', 'z'), 'sandbox_not_found')
  })

  it('says what is wrong after somebody changed the database', { timeout: 60_000 }, async () => {
    await using database = await options.open()
    for (const [what, statements] of Object.entries(TAMPERINGS)) {
      const store = await database.connect({}, KEY)
      await database.execute('delete from events; delete from event_chains; update event_sequence set value = 0')
      await write(store)
      expect(await verdict(store)).toMatchObject({ valid: true })
      await database.execute(statements)
      for (const reader of [store, await database.connect({}, KEY)]) {
        expect(await verdict(reader), what).toMatchObject({ valid: false, problem: expect.any(String) })
        await reader.close()
      }
    }
  })

  it('does not hide with its own signature what was changed before', async () => {
    const { connect, execute } = fixture()
    const store = await connect(KEY)
    await write(store)
    const forger = await connect(OTHER_KEY)
    await execute('delete from events where seq > 2; delete from event_chains; update event_sequence set value = 2')
    // All of it written anew with right hashes, by somebody who does not have the key.
    await execute('delete from events')
    await write(forger)
    expect(await verdict(store)).toMatchObject({ valid: false, problem: expect.stringContaining('another key') })
    const restarted = await connect(KEY)
    await write(restarted, 1)
    expect(await verdict(restarted)).toMatchObject({ valid: false, problem: expect.stringContaining('not signed') })
  })

  it('is verified from where retention has left it', async () => {
    const { connect, advance } = fixture()
    const store = await connect(KEY)
    await write(store, 20)
    const retention = { maximumPerSandbox: 8, maximumAgeMs: 10_000 }
    await store.events.prune(retention)
    expect(await verdict(store)).toMatchObject({ valid: true, entries: 8, dropped: { count: 12, through: 12 } })
    await write(store, 4)
    await store.events.prune({ maximumPerSandbox: 3, maximumAgeMs: 10_000 })
    const { dropped, head } = await verdict(store)
    expect({ dropped, length: head.length }).toMatchObject({ dropped: { count: 21 }, length: 24 })
    advance(20_000)
    await store.events.prune(retention)
    // The sandbox is gone, and so is everything about it.
    await expectRefusal(verdict(store), 'sandbox_not_found')
  })

  it('goes on in what was written before there were hashes', async () => {
    const { connect, execute } = fixture()
    const store = await connect(KEY)
    await write(store, 3)
    await execute('update events set hash = null; delete from event_chains')
    await write(await connect(KEY), 2)
    const restarted = await connect(KEY)
    expect(await verdict(restarted)).toMatchObject({ valid: true, entries: 5, unproven: 3, head: { length: 2 } })
    await store.events.prune({ maximumPerSandbox: 1, maximumAgeMs: 10_000 })
    expect(await verdict(restarted)).toMatchObject({ valid: true, entries: 1, unproven: 0, dropped: { count: 1 } })
  })

  it('keeps one chain with many writers, and what is undone is not in it', { timeout: 60_000 }, async () => {
    const { connect } = fixture()
    const store = await connect(KEY)
    const stores = [store, await connect(KEY), await connect(KEY)]
    await Promise.all(
      Array.from({ length: 45 }, (_, index) =>
        (stores[index % 3] ?? store).transaction(async (session) => {
          await session.events.append({ tenantId: 'a', sandboxId: 'x', type: 'first', data: { index } })
          await session.events.append({ tenantId: 'a', sandboxId: index % 2 === 0 ? 'x' : 'y', type: 'second' })
          if (index % 9 === 0) throw new Error('undone')
        }),
      ).map((work) => work.catch((error: Error) => expect(error.message).toBe('undone'))),
    )
    expect(await verdict(store)).toMatchObject({ valid: true, entries: 60 })
    expect(await store.events.verify('a', 'y')).toMatchObject({ valid: true, entries: 20 })
  })
}
