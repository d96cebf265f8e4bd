import { atomically, type Database, type Sources } from '../database/database.ts'

/** What a note is about, by dialect. */
export type NoteKind = 'e2b.process' | 'e2b.context' | 'e2b.file' | 'pandastack.session'

/** A line about something in a sandbox that outlives the server. */
export interface Note {
  readonly key: string
  /** As it was written, by this version or another. */
  readonly value: unknown
  readonly createdAt: number
}

export class NoteRepository {
  readonly #database: Database
  readonly #sources: Sources

  constructor(database: Database, sources: Sources) {
    this.#database = database
    this.#sources = sources
  }

  /** Beyond `most` of a kind the oldest of the sandbox goes. */
  async put(sandboxId: string, kind: NoteKind, key: string, value: object, most: number): Promise<void> {
    const row = { sandbox_id: sandboxId, kind, key, value: JSON.stringify(value), created_at: this.#sources.now() }
    await atomically(this.#database, async ({ query }) => {
      await query
        .insertInto('sandbox_notes')
        .values(row)
        .onConflict((conflict) => conflict.columns(['sandbox_id', 'kind', 'key']).doUpdateSet({ value: row.value }))
        .execute()
      const keys = await query
        .selectFrom('sandbox_notes')
        .select('key')
        .where('sandbox_id', '=', sandboxId)
        .where('kind', '=', kind)
        .orderBy('created_at', 'desc')
        .limit(most + 1)
        .execute()
      const oldest = keys[most]
      if (oldest === undefined) return
      const notes = query.deleteFrom('sandbox_notes').where('sandbox_id', '=', sandboxId).where('kind', '=', kind)
      await notes.where('key', '=', oldest.key).execute()
    })
  }

  /** Oldest first. */
  async list(sandboxId: string, kind: NoteKind): Promise<Note[]> {
    const rows = await this.#database.query
      .selectFrom('sandbox_notes')
      .selectAll()
      .where('sandbox_id', '=', sandboxId)
      .where('kind', '=', kind)
      .orderBy('created_at')
      .execute()
    return rows.map(({ key, value, created_at }) => ({
      key,
      value: JSON.parse(value) as unknown,
      createdAt: created_at,
    }))
  }

  /** What is noted of one sandbox holds for a copy of it, too. */
  async copy(from: string, to: string, kinds: readonly NoteKind[]): Promise<void> {
    await atomically(this.#database, async ({ query }) => {
      const notes = await query.selectFrom('sandbox_notes').selectAll().where('sandbox_id', '=', from).execute()
      const rows = notes.filter(({ kind }) => kinds.some((wanted) => wanted === kind))
      if (rows.length === 0) return
      const copies = rows.map((row) => ({ ...row, sandbox_id: to }))
      await query
        .insertInto('sandbox_notes')
        .values(copies)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    })
  }

  /** All of a kind, or one. */
  async remove(sandboxId: string, kind: NoteKind, key?: string): Promise<void> {
    const notes = this.#database.query.deleteFrom('sandbox_notes').where('sandbox_id', '=', sandboxId)
    const ofKind = notes.where('kind', '=', kind)
    await (key === undefined ? ofKind : ofKind.where('key', '=', key)).execute()
  }
}
