import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { HearthError } from '@hearth/contract'
import { StoreServer } from './store-server.ts'

const execute = promisify(execFile)

/** The errors of an operating system that has no room left, for anybody or for this limit. */
const FULL = new Set([28, 122])

/** Short ones that change nothing in the process that does them. */
const SERVED = new Set([
  'subvolume-create',
  'subvolume-delete',
  'snapshot',
  'clone',
  'limit',
  'usage',
  'group-join',
  'group-remove',
])

/**
 * Does one operation of the guest program's `store` mode and gives what it printed. Throws `store_full`, or `internal` with its message. A process
 * that waits for such calls does it when it has nothing else to do, since a process of its own takes longer to start than most take.
 */
export async function runStore(guest: string, ...words: readonly string[]): Promise<string> {
  const server = SERVED.has(words[0] ?? '') ? StoreServer.of(guest) : null
  if (server?.idle === true) {
    const [, number = '', text = ''] = /^(\d+) (.*)$/s.exec(await server.call(words)) ?? []
    if (number === '0') return text
    throw storeError(Number(number), `${words[0]}: ${text}`)
  }
  try {
    return (await execute(guest, ['store', ...words], { maxBuffer: 1024 * 1024 })).stdout
  } catch (cause) {
    throw storeFailure(cause, words[0] ?? '')
  }
}

function storeFailure(cause: unknown, operation: string): HearthError {
  const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause)
  const [, number = '', text = said] = /^(\d+) (.*)$/s.exec(said) ?? []
  return storeError(Number(number), `${operation}: ${text}`, cause)
}

/** An error number of the host, met while the store was used. */
export function storeError(errno: number, message: string, cause?: unknown): HearthError {
  const code = FULL.has(errno) ? 'store_full' : 'internal'
  return new HearthError(code, message, { cause, context: { errno } })
}

/** What Node said of a file of the store: `store_full` when it is about room, else the same error. */
export function typedStoreError(error: unknown): unknown {
  // By its number: Node has no name for a quota that is used up.
  const errno = error instanceof Error && 'errno' in error ? -Number(error.errno) : 0
  if (!FULL.has(errno)) return error
  return storeError(errno, error instanceof Error ? error.message : String(error), error)
}
