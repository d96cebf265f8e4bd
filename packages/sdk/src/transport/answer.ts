import { HearthError } from '../hearth-error.ts'
import { concatenate, decodeText } from '../streams/bytes.ts'
import type { Cancellation } from './cancellation.ts'
import { isErrorBody, networkFailure, wireFailure } from './failures.ts'

/** The server sends something every 15 seconds on a stream, or while a call waits: longer silence is a dead connection. */
export const SILENCE_MS = 45_000

/** An answer of the server whose body is read as it is needed. Must be read to the end or closed. */
export class Answer {
  readonly status: number
  readonly headers: Headers
  readonly #response: Response
  readonly #cancellation: Cancellation
  readonly #url: string

  constructor(response: Response, cancellation: Cancellation, url: string) {
    this.status = response.status
    this.headers = response.headers
    this.#response = response
    this.#cancellation = cancellation
    this.#url = url
  }

  /** The bytes as they are asked for. Nothing is read ahead of the reader, apart from what lies in the sockets. */
  async *chunks(silenceMs: number | null = null): AsyncGenerator<Uint8Array, void> {
    const reader = this.#response.body?.getReader()
    let complete = reader === undefined
    try {
      while (reader !== undefined) {
        if (silenceMs !== null) this.#cancellation.limit(silenceMs, () => silent(this.#url, silenceMs))
        const { done, value } = await reader.read()
        if (silenceMs !== null) this.#cancellation.inTime()
        complete = done
        if (done) return
        yield value
      }
    } catch (error) {
      throw networkFailure(error, this.#cancellation.signal, this.#url)
    } finally {
      if (complete) this.#cancellation.release()
      else this.close()
    }
  }

  async bytes(silenceMs: number | null = null): Promise<Uint8Array> {
    const parts: Uint8Array[] = []
    for await (const chunk of this.chunks(silenceMs)) parts.push(chunk)
    return concatenate(parts)
  }

  /** The JSON value, unless it is an error that came after the status. */
  async json(silenceMs: number | null = null): Promise<unknown> {
    const text = decodeText(await this.bytes(silenceMs))
    const requestId = this.headers.get('x-request-id')
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch (cause) {
      throw new HearthError('protocol_violation', `${this.#url} answered something else than JSON`, {
        cause,
        requestId,
      })
    }
    if (isErrorBody(body)) throw wireFailure(body.error, requestId)
    return body
  }

  /** Ends the connection when the body was not read to its end. */
  close(): void {
    this.#cancellation.cancel(new HearthError('aborted', 'the answer was not read to its end'))
  }
}

function silent(url: string, milliseconds: number): HearthError {
  return new HearthError('link_lost', `nothing from ${url} for ${milliseconds} ms`)
}
