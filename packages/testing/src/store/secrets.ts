import type { SecretBinding } from '@hearth/contract'
import type { Store } from '@hearth/server/state'
import { expect, it } from 'vitest'
import { expectRefusal } from '../support/expectations.ts'
import { useStore, type StoreSuiteOptions } from './store-suite.ts'

const MOST_SECRETS = 1000
const KEY = Buffer.alloc(32, 1)
const BINDING: SecretBinding = { name: 'api.example.com', placement: { in: 'header', header: 'authorization' } }

export function describeSecrets(options: StoreSuiteOptions): void {
  const fixture = useStore(options)
  const opened = (key = KEY): Promise<Store> => fixture().connect(key)
  const secret = { name: 'TOKEN', value: 'a value that nobody sees', binding: BINDING }

  it('is kept, replaced and removed, each tenant for itself', async () => {
    const { tenant, now, advance } = fixture()
    const store = await opened()
    const [own, other] = [await tenant(), await tenant()]
    const stored = { name: 'TOKEN', binding: BINDING, createdAt: now(), updatedAt: now() }
    expect(await store.secrets.put(own.id, secret)).toEqual(stored)
    expect(await store.secrets.reveal(own.id, 'TOKEN')).toEqual(secret)
    expect((await store.secrets.list(own.id)).items).toEqual([stored])
    expect(await store.secrets.named(own.id, ['TOKEN', 'NONE'])).toEqual([stored])
    expect(await store.secrets.named(other.id, ['TOKEN'])).toEqual([])
    expect(JSON.stringify(await store.secrets.get(own.id, 'TOKEN'))).not.toContain(secret.value)
    expect((await store.secrets.list(other.id)).items).toEqual([])
    expect(await store.secrets.reveal(other.id, 'TOKEN')).toBeNull()
    await expectRefusal(store.secrets.get(other.id, 'TOKEN'), 'secret_not_found')
    await expectRefusal(store.secrets.remove(other.id, 'TOKEN'), 'secret_not_found')
    advance(5)
    const replaced = await store.secrets.put(own.id, { ...secret, value: 'another value' })
    expect(replaced).toEqual({ ...stored, updatedAt: now() })
    expect((await store.secrets.reveal(own.id, 'TOKEN'))?.value).toBe('another value')
    await store.secrets.remove(own.id, 'TOKEN')
    expect(await store.secrets.reveal(own.id, 'TOKEN')).toBeNull()
  })

  it('cannot be read with another key, without one, or after the database was changed', async () => {
    const { tenant, store: keyless, execute } = fixture()
    const store = await opened()
    const { id } = await tenant()
    await store.secrets.put(id, secret)
    await expectRefusal((await opened(Buffer.alloc(32, 2))).secrets.reveal(id, 'TOKEN'), 'secret_unreadable')
    await expectRefusal(keyless.secrets.reveal(id, 'TOKEN'), 'secret_unreadable')
    await expectRefusal(keyless.secrets.put(id, secret), 'secret_unreadable')
    expect((await keyless.secrets.list(id)).items).toHaveLength(1)
    await execute("update secrets set binding = replace(binding, 'api.example.com', 'evil.example.com')")
    await expectRefusal(store.secrets.reveal(id, 'TOKEN'), 'secret_unreadable')
    await execute("update secrets set binding = replace(binding, 'evil.example.com', 'api.example.com')")
    expect((await store.secrets.reveal(id, 'TOKEN'))?.value).toBe(secret.value)
    await execute("update secrets set name = 'OTHER'")
    await expectRefusal(store.secrets.reveal(id, 'OTHER'), 'secret_unreadable')
  })

  it('is listed in pages, by name', async () => {
    const { tenant } = fixture()
    const store = await opened()
    const [own, other] = [await tenant(), await tenant()]
    for (const name of ['E', 'A', 'D', 'C', 'B']) await store.secrets.put(own.id, { ...secret, name })
    await store.secrets.put(other.id, { ...secret, name: 'CC' })
    const first = await store.secrets.list(own.id, { limit: 3 })
    const second = await store.secrets.list(own.id, { limit: 3, cursor: first.next ?? '' })
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['A', 'B', 'C', 'D', 'E'])
    expect([first.items.length, second.next]).toEqual([3, null])
    for (const cursor of ['', '!!!', Buffer.from("A' or 1=1").toString('base64url')]) {
      await expectRefusal(store.secrets.list(own.id, { cursor }), 'invalid_request')
    }
    await expectRefusal(store.secrets.list(own.id, { limit: 0 }), 'invalid_request')
  })

  it('says how many a tenant may have', async () => {
    const { tenant, execute } = fixture()
    const store = await opened()
    const { id } = await tenant()
    await store.secrets.put(id, secret)
    const rows = Array.from({ length: MOST_SECRETS - 1 }, (_, index) => `('${id}', 'S${index}', '{}', '', '', 0, 0)`)
    await execute(
      `insert into secrets (tenant_id, name, binding, sealed, key_id, created_at, updated_at) values ${rows.join(',')}`,
    )
    await expectRefusal(store.secrets.put(id, { ...secret, name: 'ONE_MORE' }), 'quota_exceeded')
    await store.secrets.put(id, { ...secret, value: 'replaced still' })
    expect((await store.secrets.list(id, { limit: MOST_SECRETS })).items).toHaveLength(MOST_SECRETS)
  })
}
