import { sql, type RawBuilder, type SelectQueryBuilder, type SqlBool } from 'kysely'
import { HearthError } from '@hearth/contract'
import { decodeCursor, decodeNameCursor, encodeCursor, encodeNameCursor } from './cursor.ts'
import type { Tables } from './tables.ts'

export const LIST_LIMIT = { default: 100, maximum: 1000 } as const

export interface PageOptions {
  /** 1 to 1000, default 100. */
  readonly limit?: number
  /** `next` of the page before. */
  readonly cursor?: string
}

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Null on the last page. */
  readonly next: string | null
}

type Timed = { readonly created_at: number; readonly id: string }

/** One page of what a query finds. */
export async function newestFirst<Table extends keyof Tables, Row extends Timed, Item>(
  found: SelectQueryBuilder<Tables, Table, Row>,
  options: PageOptions,
  decode: (row: Row) => Item,
): Promise<Page<Item>> {
  const ordered = found.orderBy(sql.ref('created_at'), 'desc').orderBy(sql.ref('id'), 'desc')
  const after = (cursor: string): RawBuilder<SqlBool> => {
    const { createdAt, id } = decodeCursor(cursor)
    return sql<SqlBool>`(created_at, id) < (${createdAt}, ${id})`
  }
  return await onePage(ordered, options, { after, cursorOf: timeCursor, decode })
}

/** One page of what a query finds, from its beginning on. */
export async function oldestFirst<Table extends keyof Tables, Row extends Timed, Item>(
  found: SelectQueryBuilder<Tables, Table, Row>,
  options: PageOptions,
  decode: (row: Row) => Item,
): Promise<Page<Item>> {
  const ordered = found.orderBy(sql.ref('created_at')).orderBy(sql.ref('id'))
  const after = (cursor: string): RawBuilder<SqlBool> => {
    const { createdAt, id } = decodeCursor(cursor)
    return sql<SqlBool>`(created_at, id) > (${createdAt}, ${id})`
  }
  return await onePage(ordered, options, { after, cursorOf: timeCursor, decode })
}

/** One page of what a query finds, in which no name is twice. */
export async function byName<Table extends keyof Tables, Row extends { readonly name: string }, Item>(
  found: SelectQueryBuilder<Tables, Table, Row>,
  options: PageOptions,
  decode: (row: Row) => Item,
): Promise<Page<Item>> {
  const after = (cursor: string): RawBuilder<SqlBool> => sql<SqlBool>`name > ${decodeNameCursor(cursor)}`
  const cursorOf = ({ name }: Row): string => encodeNameCursor(name)
  return await onePage(found.orderBy(sql.ref('name')), options, { after, cursorOf, decode })
}

/** All items of a list, page by page. */
export async function everyItem<Item>(list: (page: PageOptions) => Promise<Page<Item>>): Promise<Item[]> {
  const found: Item[] = []
  let cursor: string | null = null
  do {
    const page: Page<Item> = await list({ limit: LIST_LIMIT.maximum, ...(cursor === null ? {} : { cursor }) })
    found.push(...page.items)
    cursor = page.next
  } while (cursor !== null)
  return found
}

interface Order<Row, Item> {
  readonly after: (cursor: string) => RawBuilder<SqlBool>
  readonly cursorOf: (row: Row) => string
  readonly decode: (row: Row) => Item
}

async function onePage<Table extends keyof Tables, Row, Item>(
  ordered: SelectQueryBuilder<Tables, Table, Row>,
  { limit = LIST_LIMIT.default, cursor }: PageOptions,
  { after, cursorOf, decode }: Order<Row, Item>,
): Promise<Page<Item>> {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIST_LIMIT.maximum) {
    throw new HearthError('invalid_request', `limit: must be between 1 and ${LIST_LIMIT.maximum}`)
  }
  const query = cursor === undefined ? ordered : ordered.where(after(cursor))
  // One more than asked for tells whether there is a next page.
  const rows = (await query.limit(limit + 1).execute()) as Row[]
  const last = rows[limit - 1]
  return {
    items: rows.slice(0, limit).map(decode),
    next: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  }
}

function timeCursor({ created_at: createdAt, id }: Timed): string {
  return encodeCursor({ createdAt, id })
}
