import type { HearthOptions } from '@hearth/engine'
import type { Store } from '../state/index.ts'
import type { Records } from './records.ts'

/** What the engine asks a server for: values of secrets, each of the tenant whose sandbox it is, and a place for what it sees. */
export function engineOptions(store: Store, records: Records): Required<Pick<HearthOptions, 'secrets' | 'recorder'>> {
  return {
    recorder: (sandbox) => records.of(sandbox),
    secrets: async (name, sandbox) => {
      const tenantId = await records.tenantOf(sandbox)
      return tenantId === null ? null : await store.secrets.reveal(tenantId, name)
    },
  }
}
