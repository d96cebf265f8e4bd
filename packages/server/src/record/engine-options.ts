import { randomBytes } from 'node:crypto'
import type { Secret } from '@hearth/contract'
import type { HearthOptions } from '@hearth/engine'
import type { InsideConnections } from '../http/access/inside.ts'
import type { Store } from '../state/index.ts'
import type { Records } from './records.ts'

/** What the engine asks a server for: values of secrets, each of the tenant whose sandbox it is, a place for what it sees, and the API for those inside. */
export function engineOptions(
  store: Store,
  records: Records,
  inside: InsideConnections,
): Required<Pick<HearthOptions, 'secrets' | 'recorder' | 'ownHearth'>> {
  return {
    ownHearth: inside.connect,
    recorder: (sandbox) => records.of(sandbox),
    secrets: async (name, sandbox) => {
      const tenantId = await records.tenantOf(sandbox)
      if (tenantId === null) return null
      const found = await store.secrets.reveal(tenantId, name)
      // SAFETY: a key of ssh stays with the server, also when it was stored under the name of what a sandbox uses.
      return found === null || found.binding.placement.in === 'ssh' ? removed(name) : found
    },
  }
}

/**
 * A create names only secrets that are there; one that is taken up again may use one that was removed since. It goes on without: the
 * placeholder goes nowhere, since this name cannot be reached, and whatever holds it is refused.
 */
function removed(name: string): Secret {
  const binding = { name: 'removed.invalid', placement: { in: 'basic' } } as const
  return { name, value: randomBytes(24).toString('hex'), binding }
}
