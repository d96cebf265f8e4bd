import { HearthError } from './hearth-error.ts'
import { encodeText } from './streams/bytes.ts'

const PATH_BYTES = 4096

/** An integer from a caller, within bounds. */
export function checkedInteger(value: unknown, least: number, most: number, what: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
  throw new HearthError('invalid_request', `${what}: must be an integer from ${least} to ${most}`, {
    context: { field: what },
  })
}

/** A path that may be put into a URL. What it means is for the sandbox to say. */
export function checkedPath(path: unknown, what = 'path'): string {
  if (
    typeof path === 'string' &&
    path.startsWith('/') &&
    !path.includes('\0') &&
    encodeText(path).length <= PATH_BYTES
  ) {
    return path
  }
  const rule = `must be absolute, without NUL and at most ${PATH_BYTES} bytes`
  throw new HearthError('invalid_request', `${what}: ${rule}`, { context: { field: what } })
}

/** An identifier that may be a part of a URL's path. */
export function checkedId(id: unknown, what = 'id'): string {
  if (typeof id === 'string' && /^[A-Za-z0-9_-]{1,128}$/.test(id)) return id
  throw new HearthError('invalid_request', `${what}: must have letters, digits, _ and - alone`, {
    context: { field: what },
  })
}

/** The items of a list that a server gave. One that is none of ours may give anything. */
export function itemsOf<Item>(body: unknown): Item[] {
  const items = typeof body === 'object' && body !== null && 'items' in body ? body.items : null
  if (Array.isArray(items)) return items as Item[]
  throw new HearthError('protocol_violation', 'the server answered something else than a list')
}
