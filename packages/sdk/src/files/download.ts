import type { ReadOptions } from '@hearth/contract'
import { checkedInteger, checkedPath } from '../checks.ts'
import { hasCode } from '../hearth-error.ts'
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
  if (range === null || answer.status === PARTIAL_CONTENT) return yield* answer.chunks()
  yield* partOf(answer.chunks(), offset, length ?? Number.MAX_SAFE_INTEGER)
}

/** Files without a size, such as those of /proc, come whole. */
async function* partOf(
  chunks: AsyncIterable<Uint8Array>,
  offset: number,
  length: number,
): AsyncGenerator<Uint8Array, void> {
  const end = Math.min(Number.MAX_SAFE_INTEGER, offset + length)
  let position = 0
  for await (const chunk of chunks) {
    const part = chunk.subarray(Math.max(0, offset - position), Math.max(0, end - position))
    position += chunk.length
    if (part.length > 0) yield part
    if (position >= end) return
  }
}

/** Nothing cannot be asked for, so that a length of 0 asks for one byte, to hear whether the file is there. */
function rangeHeader(offset: number, length: number | null): string | null {
  if (length !== null) return `bytes=${offset}-${Math.min(Number.MAX_SAFE_INTEGER, offset + Math.max(length, 1) - 1)}`
  return offset === 0 ? null : `bytes=${offset}-`
}
