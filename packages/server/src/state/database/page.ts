import { sql, type SelectQueryBuilder, type SqlBool } from 'kysely'
import { HearthError } from '@hearth/contract'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Tables } from './tables.ts'

export const LIST_LIMIT = { default: 100, maximum: 1000 } as const

export interface PageOptions {
  /** 1 to 1000, default 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface Page<Item> {
  /** Newest first. */
  readonly items: readonly Item[]
  /** Null on the last page. */
  readonly next: string | null
}

/** One page of what a query finds. */
export async function newestFirst<Table extends keyof Tables, Row extends { created_at: number; id: string }, Item>(
  found: SelectQueryBuilder<Tables, Table, Row>,
  { limit = LIST_LIMIT.default, cursor }: PageOptions,
  decode: (row: Row) => Item,
): Promise<Page<Item>> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT.maximum) {
    throw new HearthError('invalid_request', `limit: must be between 1 and ${LIST_LIMIT.maximum}`)
  }
  let query = found.orderBy(sql.ref('created_at'), 'desc').orderBy(sql.ref('id'), 'desc')
  if (cursor !== undefined) {
    const { createdAt, id } = decodeCursor(cursor)
    query = query.where(sql<SqlBool>`(created_at, id) < (${createdAt}, ${id})`)
  }
  // One more than asked for tells whether there is a next page.
  const rows = (await query.limit(limit + 1).execute()) as Row[]
  const last = rows[limit - 1]
  return {
    items: rows.slice(0, limit).map(decode),
    next: rows.length > limit && last !== undefined ? encodeCursor({ createdAt: last.created_at, id: last.id }) : null,
  }
}
