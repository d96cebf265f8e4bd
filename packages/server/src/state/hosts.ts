import type { Database, Sources } from './database/database.ts'

/** A machine on which an engine runs. */
export interface Host {
  readonly id: string
  /** Where other servers reach it; null while there is only one. */
  readonly url: string | null
  readonly startedAt: number
  readonly heartbeatAt: number
}

export class HostRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** A server announces that it starts on this host. */
  async register(id: string, url: string | null = null): Promise<Host> {
    const now = this.#sources.now()
    const values = { url, started_at: now, heartbeat_at: now }
    const row = await this.#database.query
      .insertInto('hosts')
      .values({ id, ...values })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(values))
      .returning(['id', 'url', 'started_at as startedAt', 'heartbeat_at as heartbeatAt'])
      .executeTakeFirstOrThrow()
    return row
  }

  async heartbeat(id: string): Promise<void> {
    const query = this.#database.query.updateTable('hosts').set({ heartbeat_at: this.#sources.now() })
    await query.where('id', '=', id).execute()
  }

  async list(): Promise<Host[]> {
    return await this.#database.query
      .selectFrom('hosts')
      .select(['id', 'url', 'started_at as startedAt', 'heartbeat_at as heartbeatAt'])
      .orderBy('id')
      .execute()
  }
}
