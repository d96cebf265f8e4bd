import { HearthError, type SandboxId, type SandboxState } from '@hearth/contract'
import { atomically, inBatches, type Database, type Sources } from '../database/database.ts'
import { hasWorkingKey } from '../access/key-path.ts'
import { ALIVE_STATES, assertTransition } from '../lifecycle.ts'
import { compareAndSet, findSandbox, notFound, type SandboxVersion } from './compare-and-set.ts'
import { countHoldings, type Holdings } from './holdings.ts'
import { findLineage, livingAncestry } from './lineage.ts'
import type { Page } from '../database/page.ts'
import { listSandboxes, type ListOptions, type SandboxFilter } from './sandbox-list.ts'
import {
  decodeSandbox,
  encodeNewSandbox,
  encodePatch,
  type NewSandbox,
  type SandboxPatch,
  type SandboxRecord,
} from './sandbox-record.ts'
import { countUsage, type Usage } from './usage.ts'

const SCAN_PAGE = 500

export class SandboxRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Writes a sandbox in the state `creating`. Does not look at quotas: see `createWithinQuota`. */
  insert(input: NewSandbox): Promise<SandboxRecord> {
    const id = input.id ?? this.#sources.newId('sb')
    const pairs = Object.entries(input.metadata ?? {}).map(([key, value]) => ({ sandbox_id: id, key, value }))
    return atomically(this.#database, async ({ query }) => {
      const row = await query
        .insertInto('sandboxes')
        .values(encodeNewSandbox(input, id, this.#sources.now()))
        .onConflict((conflict) => conflict.column('id').doNothing())
        .returningAll()
        .executeTakeFirst()
      if (row === undefined) throw new HearthError('conflict', `${id} was used before`, { context: { sandbox: id } })
      if (pairs.length > 0) await query.insertInto('sandbox_metadata').values(pairs).execute()
      return decodeSandbox(row)
    })
  }

  /** `sandbox_not_found` when there is none, when it is deleted, or when it is another tenant's. */
  async get(id: string, tenantId?: string): Promise<SandboxRecord> {
    const record = await findSandbox(this.#database, id)
    if (record === null || (tenantId !== undefined && record.tenantId !== tenantId)) throw notFound(id)
    return record
  }

  /** As `get` for every tenant, with null instead of an error. */
  find(id: string): Promise<SandboxRecord | null> {
    return findSandbox(this.#database, id)
  }

  /** A page, newest first. Rows that are inserted while a client pages neither repeat nor hide another. */
  list(options: ListOptions = {}): Promise<Page<SandboxRecord>> {
    return listSandboxes(this.#database, options)
  }

  /** A sandbox with all that are related to it by forks, oldest first. */
  lineage(tenantId: string, id: string): Promise<SandboxRecord[]> {
    return findLineage(this.#database, tenantId, id)
  }

  /** The names of the templates of a tenant's sandboxes, each once. */
  async templatesOf(tenantId: string): Promise<string[]> {
    const query = this.#database.query.selectFrom('sandboxes').select('template').distinct()
    const rows = await query.where('tenant_id', '=', tenantId).where('state', '!=', 'deleted').execute()
    return rows.map(({ template }) => template)
  }

  /** All that match, page by page, for the server's own rounds. */
  async *scan(filter: SandboxFilter = {}): AsyncGenerator<SandboxRecord> {
    let cursor: string | null = null
    do {
      const page: Page<SandboxRecord> = await this.list({
        ...filter,
        limit: SCAN_PAGE,
        ...(cursor === null ? {} : { cursor }),
      })
      yield* page.items
      cursor = page.next
    } while (cursor !== null)
  }

  /**
   * Moves a sandbox to another state if it still is as `from` says, and counts its version up.
   * `invalid_state`: the transition table has no such step. `conflict`: something else changed it since it was read.
   * `sandbox_not_found`: it is gone. A step to `deleted` leaves a tombstone that only keeps the identifier from being used again.
   */
  async transition(from: SandboxVersion, to: SandboxState, patch: SandboxPatch = {}): Promise<SandboxRecord> {
    assertTransition(from.state, to)
    if (to !== 'deleted') return await compareAndSet(this.#database, from, { ...encodePatch(patch), state: to })
    const tombstone = { ended_at: this.#sources.now(), ...encodePatch(patch), spec: '{}', metadata: '{}', state: to }
    return await atomically(this.#database, async (database) => {
      // First: a transaction that goes on after a conflict must have changed nothing.
      const deleted = await compareAndSet(database, from, tombstone)
      await database.query.deleteFrom('sandbox_metadata').where('sandbox_id', '=', from.id).execute()
      return deleted
    })
  }

  /** Changes what is not the state (a renewed deadline, for example) under the same comparison as `transition`. */
  update(from: SandboxVersion, patch: SandboxPatch): Promise<SandboxRecord> {
    return compareAndSet(this.#database, from, encodePatch(patch))
  }

  /** Moves the time of the last activity forwards, never back. Not a change of version: it may happen at any time. */
  async touch(id: SandboxId, at: number = this.#sources.now()): Promise<void> {
    const query = this.#database.query.updateTable('sandboxes').set({ last_active_at: at })
    await query.where('id', '=', id).where('last_active_at', '<', at).execute()
  }

  /** Alive and past their deadline, the most overdue first. */
  async overdue(limit: number, now: number = this.#sources.now()): Promise<SandboxRecord[]> {
    const query = this.#database.query
      .selectFrom('sandboxes')
      .selectAll()
      .where('state', 'in', [...ALIVE_STATES])
    const rows = await query.where('expires_at', '<=', now).orderBy('expires_at').limit(limit).execute()
    return rows.map(decodeSandbox)
  }

  /** Running for longer than their idle time without activity. Whether a command is waited for is the caller's to check. */
  async idle(limit: number, now: number = this.#sources.now()): Promise<SandboxRecord[]> {
    const query = this.#database.query.selectFrom('sandboxes').selectAll().where('state', '=', 'running')
    const rows = await query
      .where('idle_ms', 'is not', null)
      .where((where) => where(where('last_active_at', '+', where.ref('idle_ms')), '<=', now))
      .orderBy('last_active_at')
      .limit(limit)
      .execute()
    return rows.map(decodeSandbox)
  }

  /** What a tenant holds now, in one query. */
  usage(tenantId: string): Promise<Usage> {
    return countUsage(this.#database, tenantId)
  }

  /** What all holders at or below this path have together. */
  holdings(path: string): Promise<Holdings> {
    return countHoldings(this.#database, path)
  }

  /** Alive on this host, and made with a key that does not work any more. */
  async orphans(hostId: string): Promise<SandboxRecord[]> {
    const rows = await this.#database.query
      .selectFrom('sandboxes')
      .selectAll()
      .where('host_id', '=', hostId)
      .where('holder', 'is not', null)
      .where('state', 'in', [...ALIVE_STATES])
      .where((where) => where.not(hasWorkingKey(this.#sources.now(), 'exactly')))
      .execute()
    return rows.map(decodeSandbox)
  }

  /**
   * Removes tombstones that are older than this, and answers how many; those that living sandboxes were forked from stay. The identifier stays unused all the same: it begins
   * with the millisecond in which it was made.
   */
  async purge(deletedBefore: number): Promise<number> {
    return await inBatches(async (limit) => {
      const old = this.#database.query
        .selectFrom('sandboxes')
        .select('id')
        .where('state', '=', 'deleted')
        .where('ended_at', '<', deletedBefore)
        // What a holder has used counts for as long as anybody above it works.
        .where((where) => where.not(hasWorkingKey(this.#sources.now(), 'or above')))
        .where('id', 'not in', livingAncestry())
        .limit(limit)
      return await this.#database.query.deleteFrom('sandboxes').where('id', 'in', old).executeTakeFirst()
    })
  }
}
