import { HearthError, type Secret } from '@hearth/contract'
import type { Store } from '../state/index.ts'
import type { Remote } from './git/remote.ts'
import { hostNameOf, type KnownServer } from './git/ssh-reach.ts'

/** What is not spoken to with ssh shows its certificate, or is this host. */
const UNASKED: KnownServer = { keys: [], learn: async () => undefined }

/** By the keys that its secret names; else by the one that it had when this tenant first spoke to it. */
export async function knownServer(
  store: Pick<Store, 'hostKeys'>,
  tenantId: string,
  remote: Remote,
  secret: Secret | null,
): Promise<KnownServer> {
  const placement = secret?.binding.placement
  if (remote.protocol !== 'ssh' || placement?.in !== 'ssh') return UNASKED
  if (placement.hostKeys !== undefined) return { keys: placement.hostKeys, learn: async () => undefined }
  const host = hostNameOf(remote)
  const pinned = await store.hostKeys.find(tenantId, host)
  return {
    keys: pinned === null ? null : [pinned],
    learn: async (key) => {
      if ((await store.hostKeys.pin(tenantId, host, key)) === key) return
      throw new HearthError('host_key_changed', `${host} has shown another key meanwhile`, { context: { host } })
    },
  }
}
