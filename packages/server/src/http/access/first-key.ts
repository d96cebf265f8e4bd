import type { Store } from '../../state/index.ts'

export const DEFAULT_TENANT = 'default'

/** Why a key was made at the start: there was none, those of operators were all revoked or had expired, or somebody asked for one. */
export type KeyReason = 'first' | 'none_works' | 'asked'

export interface MadeKey {
  readonly token: string
  readonly tenantId: string
  readonly reason: KeyReason
}

interface KeyMaking {
  /** Makes one in any case. */
  readonly anew?: boolean
  /** Stores the token, the only copy of the secret, before the key exists, so that there is never a key that nobody has. */
  readonly keep?: (token: string) => Promise<void>
}

/** A key that may do everything, where no operator has one that works. Null when there is one already. */
export async function ensureOperatorKey(store: Store, making: KeyMaking = {}): Promise<MadeKey | null> {
  const { anew = false, keep = () => Promise.resolve() } = making
  return await store.transaction(async ({ tenants, apiKeys }) => {
    if (!anew && (await apiKeys.any('operator'))) return null
    const known = await tenants.findByName(DEFAULT_TENANT)
    const tenant = known ?? (await tenants.create({ name: DEFAULT_TENANT }))
    // Of two servers that start at once on one database, the second waits here and then sees the key of the first.
    await tenants.lock(tenant.id)
    const works = await apiKeys.any('operator')
    if (works && !anew) return null
    const reason = works
      ? 'asked'
      : (await apiKeys.list(tenant.id, { limit: 1 })).items.length === 0
        ? 'first'
        : 'none_works'
    const { token } = await apiKeys.create({ tenantId: tenant.id, name: reason, scopes: ['admin', 'operator'] })
    await keep(token)
    return { token, tenantId: tenant.id, reason }
  })
}
