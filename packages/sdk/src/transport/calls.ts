import { itemsOf } from '../checks.ts'
import type { CallOptions, HttpClient } from './http-client.ts'

/** All items of a list that is paged, in the order of the server. */
export async function allPages<Item>(http: HttpClient, path: string, options: CallOptions): Promise<Item[]> {
  const found: Item[] = []
  let cursor: string | null | undefined
  do {
    const query = { limit: 1000, cursor: cursor ?? undefined }
    const body: { next?: string | null } = await http.json({ method: 'GET', path, query, signal: options.signal })
    found.push(...itemsOf<Item>(body))
    cursor = body.next
  } while (typeof cursor === 'string')
  return found
}

/** What a call that must not be done twice is sent with. */
export function keyedCall(key: string | undefined) {
  const headers = { 'idempotency-key': key ?? crypto.randomUUID() }
  return { headers, repeatable: true, timeoutMs: null } as const
}
