import type { Content } from '@hearth/contract'
import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { encodeText } from '../streams/bytes.ts'
import type { Answer } from '../transport/answer.ts'
import type { Call } from '../transport/http-client.ts'

/** Sends content as the body of a request: whole where it is in memory, as a stream that is pulled where it is not. */
export async function upload(client: Pick<SandboxClient, 'send'>, call: Call, content: Content): Promise<Answer> {
  const headers = { 'content-type': 'application/octet-stream', ...call.headers }
  if (typeof content === 'string') return await client.send({ ...call, headers, body: encodeText(content) })
  if (content instanceof Uint8Array) return await client.send({ ...call, headers, body: content })
  const source = new Source(content)
  try {
    return await client.send({ ...call, headers, body: source.stream() })
  } catch (error) {
    // A source that failed broke the request: its own error is the cause, not the broken connection.
    throw source.failed ? source.failure : error
  } finally {
    await source.close()
  }
}

/** An iterable as the body of a request; remembers its failure. */
class Source {
  readonly #iterator: AsyncIterator<Uint8Array>
  failed = false
  failure: unknown = null
  #open = true

  constructor(content: AsyncIterable<Uint8Array>) {
    const iterable = content as Partial<AsyncIterable<Uint8Array>> | null | undefined
    if (typeof iterable?.[Symbol.asyncIterator] !== 'function') {
      throw new HearthError('invalid_request', 'content: must be a string, a Uint8Array or an async iterable of them')
    }
    this.#iterator = content[Symbol.asyncIterator]()
  }

  stream(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const chunk = await this.#next()
          if (chunk === null) controller.close()
          else controller.enqueue(chunk)
        },
        cancel: async () => await this.close(),
      },
      { highWaterMark: 0 },
    )
  }

  /** Tells an iterator that was not read to its end that nobody will. Its answer is not waited for: it may be in the middle of something. */
  async close(): Promise<void> {
    if (!this.#open) return
    this.#open = false
    this.#iterator.return?.().catch(() => {})
  }

  async #next(): Promise<Uint8Array | null> {
    try {
      for (;;) {
        const { done, value } = await this.#iterator.next()
        if (done === true) {
          this.#open = false
          return null
        }
        if (!(value instanceof Uint8Array))
          throw new HearthError('invalid_request', 'content: a piece is no Uint8Array')
        // An empty piece would be the end of a chunked body.
        if (value.length > 0) return value
      }
    } catch (error) {
      this.failed = true
      this.failure = error
      throw error
    }
  }
}
