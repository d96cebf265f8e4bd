import { expect, it } from 'vitest'
import type { ListOptions, SandboxRecord, Store } from '@hearth/server/state'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeSandboxList(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('pages newest first through rows of one instant, whatever is added meanwhile', async () => {
    const { store, tenant, sandbox, advance } = fixture()
    const owner = await tenant()
    const made: SandboxRecord[] = []
    for (let index = 0; index < 25; index++) {
      // Many of the same millisecond: the identifier decides among them.
      if (index % 10 === 0) advance(1)
      made.push(await sandbox(owner))
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const page = await store.sandboxes.list({ tenantId: owner.id, limit: 7, ...(cursor === null ? {} : { cursor }) })
      seen.push(...page.items.map(({ id }) => id))
      cursor = page.next
      advance(1)
      await sandbox(owner)
    } while (cursor !== null)
    const expected = made.toSorted((left, right) => right.createdAt - left.createdAt || (left.id < right.id ? 1 : -1))
    expect(seen).toEqual(expected.map(({ id }) => id))
  })

  it('ends with no cursor when the last page is just full', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    for (let index = 0; index < 4; index++) await sandbox(owner)
    const page = await store.sandboxes.list({ limit: 4 })
    expect(page).toMatchObject({ next: null, items: { length: 4 } })
  })

  it('filters by everything together', async () => {
    const { store, tenant, sandbox } = fixture()
    const [one, two] = [await tenant(), await tenant()]
    const parent = await sandbox(one, { metadata: { user: 'ann', job: '1' }, hostId: 'host-a' })
    const child = await sandbox(one, { metadata: { user: 'ann', job: '2' }, parentId: parent.id, rung: 'gvisor' })
    const foreign = await sandbox(two, { metadata: { user: 'ann', job: '1' } })
    await store.sandboxes.transition(parent, 'running')
    const cases: [ListOptions, SandboxRecord[]][] = [
      [{}, [parent, child, foreign]],
      [{ tenantId: one.id }, [parent, child]],
      [{ tenantId: one.id, states: ['running'] }, [parent]],
      [{ states: ['running', 'creating'] }, [parent, child, foreign]],
      [{ states: [] }, []],
      [{ rungs: ['gvisor', 'microvm'] }, [child]],
      [{ parentId: parent.id }, [child]],
      [{ hostId: 'host-a' }, [parent]],
      [{ metadata: { user: 'ann' }, tenantId: one.id }, [parent, child]],
      [{ metadata: { user: 'ann', job: '1' } }, [parent, foreign]],
      [{ metadata: { user: 'ann', job: '1' }, tenantId: one.id }, [parent]],
      [{ metadata: { user: '%' } }, []],
      [{ metadata: { user: "' or 1=1 --" } }, []],
      [{ metadata: { job: 'ann' } }, []],
      [{ tenantId: 'tn_none' }, []],
    ]
    for (const [filter, expected] of cases) {
      expect(await idsOf(store, filter), JSON.stringify(filter)).toEqual(expected.map(({ id }) => id).toSorted())
    }
  })

  it('bounds the page and refuses cursors that it did not make', async () => {
    const { store } = fixture()
    for (const limit of [0, -1, 1001, 1.5, Number.NaN]) {
      await expectRefusal(store.sandboxes.list({ limit }), 'invalid_request')
    }
    const hostile = ['', 'x', '!!!', '%00', Buffer.from('[1]').toString('base64url'), 'A'.repeat(1_000_000)]
    for (const cursor of [...hostile, Buffer.from("1.' or 1=1").toString('base64url')]) {
      await expectRefusal(store.sandboxes.list({ cursor }), 'invalid_request')
    }
    const metadata = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`key${index}`, 'x']))
    await expectRefusal(store.sandboxes.list({ metadata }), 'invalid_request')
  })

  it('scans past the bound of a page', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    await store.transaction(async (session) => {
      for (let index = 0; index < 1003; index++) await sandbox(owner, {}, session)
    })
    const seen = new Set<string>()
    for await (const { id } of store.sandboxes.scan({ tenantId: owner.id })) seen.add(id)
    expect(seen.size).toBe(1003)
  })
}

async function idsOf(store: Store, filter: ListOptions): Promise<string[]> {
  const { items: sandboxes } = await store.sandboxes.list(filter)
  return sandboxes.map(({ id }) => id).toSorted()
}
