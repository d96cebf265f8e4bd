import type { ReadOptions } from '@hearth/contract'
import { checkedInteger, checkedPath } from '../checks.ts'
import { hasCode, HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'

const PARTIAL_CONTENT = 206

/** The content of a file, or a part of it, as it is asked for. */
export async function* download(
  client: SandboxClient,
  path: string,
  options: ReadOptions,
): AsyncGenerator<Uint8Array, void> {
  const offset = checkedInteger(options.offset ?? 0, 0, Number.MAX_SAFE_INTEGER, 'offset')
  const length =
    options.length === undefined ? null : checkedInteger(options.length, 0, Number.MAX_SAFE_INTEGER, 'length')
  const range = rangeHeader(offset, length)
  const answer = await client
    .send({
      method: 'GET',
      path: '/files',
      query: { path: checkedPath(path) },
      headers: { accept: 'application/octet-stream', ...(range === null ? {} : { range }) },
      signal: options.signal,
    })
    .catch((error: unknown) => {
      // The file has no byte there, which is an answer and no failure.
      if (range !== null && hasCode(error, 'range_unsatisfiable')) return null
      throw error
    })
  if (answer === null) return
  if (length === 0) return answer.close()
  if (range !== null && answer.status !== PARTIAL_CONTENT) {
    answer.close()
    throw new HearthError('protocol_violation', 'the server answered a request for a part with something else')
  }
  yield* answer.chunks()
}

/** Nothing cannot be asked for, so that a length of 0 asks for one byte, to hear whether the file is there. */
function rangeHeader(offset: number, length: number | null): string | null {
  if (length !== null) return `bytes=${offset}-${Math.min(Number.MAX_SAFE_INTEGER, offset + Math.max(length, 1) - 1)}`
  return offset === 0 ? null : `bytes=${offset}-`
}
