import { request } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/** Answers of the engine are small; what is longer is not for us. */
const ANSWER_BYTES = 4 * 1024 * 1024
const CALL_TIMEOUT_MS = 30_000
/** An import of a whole root is silent while the engine unpacks it. */
const UPLOAD_TIMEOUT_MS = 600_000

export interface EngineAnswer {
  readonly status: number
  readonly text: string
}

/** A thin client of the Docker Engine API on its unix socket; Podman answers the same calls. */
export class EngineClient {
  readonly socketPath: string

  constructor(socketPath: string) {
    this.socketPath = socketPath
  }

  async call(method: string, path: string, signal?: AbortSignal): Promise<EngineAnswer> {
    return await this.#send(method, path, null, CALL_TIMEOUT_MS, signal)
  }

  /** The JSON of a successful answer; null when the thing does not exist. */
  async get(path: string, signal?: AbortSignal): Promise<unknown> {
    const { status, text } = await this.call('GET', path, signal)
    if (status === 404) return null
    if (status !== 200) throw new Error(`the container engine answered ${path} with ${status}: ${text.slice(0, 500)}`)
    return JSON.parse(text)
  }

  async upload(path: string, body: Readable, signal?: AbortSignal): Promise<EngineAnswer> {
    return await this.#send('POST', path, body, UPLOAD_TIMEOUT_MS, signal)
  }

  async #send(
    method: string,
    path: string,
    body: Readable | null,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<EngineAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>()
    const headers = body === null ? {} : { 'Content-Type': 'application/x-tar' }
    const abort = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])])
    const call = request(
      { socketPath: this.socketPath, path, method, headers, signal: abort, agent: false },
      (answer) => {
        const chunks: Buffer[] = []
        let length = 0
        answer.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length > ANSWER_BYTES) call.destroy(new Error(`the container engine answered ${path} with too much`))
          else chunks.push(chunk)
        })
        answer.once('error', reject)
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString() }))
      },
    )
    call.once('error', reject)
    if (body === null) call.end()
    // An engine that refuses early closes the connection: its answer, or the error above, says why.
    else await pipeline(body, call).catch(reject)
    return await promise
  }
}
