import type { Selectable } from 'kysely'
import { BOUNDS, HearthError, newId } from '@hearth/contract'
import { atomically, type Database, type Sources } from '../database/database.ts'
import { newestFirst, type Page, type PageOptions } from '../database/page.ts'
import type { HostKeysTable } from '../database/workspace-tables.ts'

/** The key that a server of git had when a tenant first spoke to it with ssh. */
export interface PinnedHostKey {
  /** As in lists of known hosts. */
  readonly host: string
  readonly key: string
  readonly pinnedAt: number
}

export class HostKeyTable {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes it down unless there is one. Gives the one that counts, which is the first of those that come at once. */
  async pin(tenantId: string, host: string, key: string): Promise<string> {
    return await atomically(this.#database, async ({ query }) => {
      await query
        .insertInto('ssh_host_keys')
        .values({ id: newId('hk'), tenant_id: tenantId, host, host_key: key, created_at: this.#sources.now() })
        .onConflict((conflict) => conflict.columns(['tenant_id', 'host']).doNothing())
        .execute()
      const own = query.selectFrom('ssh_host_keys').where('tenant_id', '=', tenantId)
      const { count } = await own.select(({ fn }) => fn.countAll().as('count')).executeTakeFirstOrThrow()
      if (Number(count) > BOUNDS.hostKeys)
        throw new HearthError('quota_exceeded', `this tenant knows ${BOUNDS.hostKeys} servers, which is the most`, {
          suggestion: 'Forget those that are no longer needed: `hearth repo host-keys --forget HOST`.',
        })
      return (await own.where('host', '=', host).select('host_key').executeTakeFirstOrThrow()).host_key
    })
  }

  async find(tenantId: string, host: string): Promise<string | null> {
    const query = this.#database.query.selectFrom('ssh_host_keys').where('tenant_id', '=', tenantId)
    return (await query.where('host', '=', host).select('host_key').executeTakeFirst())?.host_key ?? null
  }

  async list(tenantId: string, options: PageOptions): Promise<Page<PinnedHostKey>> {
    const query = this.#database.query.selectFrom('ssh_host_keys').selectAll().where('tenant_id', '=', tenantId)
    return await newestFirst(query, options, decode)
  }

  /** False when there was none. */
  async forget(tenantId: string, host: string): Promise<boolean> {
    const query = this.#database.query.deleteFrom('ssh_host_keys').where('tenant_id', '=', tenantId)
    const { numDeletedRows } = await query.where('host', '=', host).executeTakeFirst()
    return Number(numDeletedRows) > 0
  }
}

function decode(row: Selectable<HostKeysTable>): PinnedHostKey {
  return { host: row.host, key: row.host_key, pinnedAt: row.created_at }
}
