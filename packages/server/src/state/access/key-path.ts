import { sql, type RawBuilder, type SqlBool } from 'kysely'

/** The place of a key below those that made it. A key that was not delegated is a place of its own. */
export function pathOf(key: { readonly id: string; readonly path: string | null }): string {
  return key.path ?? `${key.id}/`
}

/** The identifiers of a path, the first maker first. */
export function keysOf(path: string): string[] {
  return path.split('/').filter((id) => id !== '')
}

/** Whether a column holds this path or one below it. Compared as bytes: no pattern, and no collation of the database. */
export function isBelowPath(column: string, path: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`substr(${sql.ref(column)}, 1, ${sql.lit(path.length)}) = ${path}`
}

/** Whether the delegated key that a row of `sandboxes` was made with works, or any above it. */
export function hasWorkingKey(now: number, which: 'exactly' | 'or above'): RawBuilder<SqlBool> {
  const fits =
    which === 'exactly'
      ? sql`api_keys.path = sandboxes.holder`
      : sql`api_keys.path = substr(sandboxes.holder, 1, length(api_keys.path))`
  return sql<SqlBool>`exists (select 1 from api_keys where ${fits} and api_keys.revoked_at is null
    and (api_keys.expires_at is null or api_keys.expires_at > ${now}))`
}
