import { expect, it } from 'vitest'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

export function describeNotes(options: StoreSuiteOptions): void {
  const fixture = useStore(options)

  it('are of a sandbox and a kind, and go with the sandbox', async () => {
    const { store, tenant, sandbox, execute, now } = fixture()
    const owner = await tenant()
    const [one, other] = [await sandbox(owner), await sandbox(owner)]
    await store.notes.put(one.id, 'e2b.process', '1', { tag: 'a' }, 10)
    await store.notes.put(one.id, 'e2b.process', '1', { tag: 'b' }, 10)
    await store.notes.put(one.id, 'e2b.context', '1', { language: 'python' }, 10)
    expect(await store.notes.list(one.id, 'e2b.process')).toEqual([{ key: '1', value: { tag: 'b' }, createdAt: now() }])
    expect(await store.notes.list(other.id, 'e2b.process')).toEqual([])
    await store.notes.remove(one.id, 'e2b.process')
    expect(await store.notes.list(one.id, 'e2b.process')).toEqual([])
    expect(await store.notes.list(one.id, 'e2b.context')).toHaveLength(1)
    await execute(`delete from sandboxes where id = '${one.id}'`)
    expect(await store.notes.list(one.id, 'e2b.context')).toEqual([])
  })

  it('hold for a copy of the sandbox, as far as they are wanted', async () => {
    const { store, tenant, sandbox } = fixture()
    const owner = await tenant()
    const [one, copy] = [await sandbox(owner), await sandbox(owner)]
    await store.notes.put(one.id, 'e2b.file', '/a', { size: 1 }, 10)
    await store.notes.put(one.id, 'e2b.process', '1', { pid: 2 }, 10)
    await store.notes.copy(one.id, copy.id, ['e2b.file', 'e2b.context'])
    expect(await store.notes.list(copy.id, 'e2b.file')).toMatchObject([{ key: '/a', value: { size: 1 } }])
    expect(await store.notes.list(copy.id, 'e2b.process')).toEqual([])
    await store.notes.copy(copy.id, one.id, ['e2b.context'])
    expect(await store.notes.list(one.id, 'e2b.file')).toHaveLength(1)
  })

  it('give way to newer ones when there are as many as there may be', async () => {
    const { store, tenant, sandbox, advance } = fixture()
    const { id } = await sandbox(await tenant())
    for (const key of ['a', 'b', 'c', 'd']) {
      await store.notes.put(id, 'e2b.process', key, {}, 3)
      advance(1)
    }
    await store.notes.remove(id, 'e2b.process', 'c')
    expect((await store.notes.list(id, 'e2b.process')).map(({ key }) => key)).toEqual(['b', 'd'])
  })
}
