import type { Store } from '../../state/index.ts'

export const DEFAULT_TENANT = 'default'

/**
 * On the first start: a tenant and a key that may do everything. Null when there is a key already. The token is the only copy of the
 * secret: `keep` stores it before the key exists, so that there is never a key that nobody has.
 */
export async function ensureFirstKey(
  store: Store,
  keep: (token: string) => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly token: string; readonly tenantId: string } | null> {
  return await store.transaction(async ({ tenants, apiKeys }) => {
    if (await apiKeys.any()) return null
    const tenant = (await tenants.findByName(DEFAULT_TENANT)) ?? (await tenants.create({ name: DEFAULT_TENANT }))
    // Of two servers that start at once on one database, the second waits here and then sees the key of the first.
    await tenants.lock(tenant.id)
    if (await apiKeys.any()) return null
    const { token } = await apiKeys.create({ tenantId: tenant.id, name: 'first', scopes: ['admin', 'operator'] })
    await keep(token)
    return { token, tenantId: tenant.id }
  })
}
