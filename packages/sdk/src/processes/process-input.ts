import { HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { concatenate, encodeText } from '../streams/bytes.ts'

/** Writes that are put together into one request. */
const REQUEST_BYTES = 1024 * 1024

interface Write {
  readonly bytes: Uint8Array
  readonly last: boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Standard input of a process: one request at a time, so that the order holds; what waits meanwhile goes together. */
export class ProcessInput {
  readonly #client: SandboxClient
  readonly #process: number
  readonly #signal: AbortSignal
  readonly #waiting: Write[] = []
  #sending = false
  #closed = false

  constructor(client: SandboxClient, process: number, signal: AbortSignal) {
    this.#client = client
    this.#process = process
    this.#signal = signal
  }

  /** Resolves when the process has room for the bytes. They must not change before. */
  write(data: string | Uint8Array): Promise<void> {
    if (typeof data !== 'string' && !(data instanceof Uint8Array)) {
      return Promise.reject(new HearthError('invalid_request', 'data: must be a string or a Uint8Array'))
    }
    return this.#enqueue(typeof data === 'string' ? encodeText(data) : data, false)
  }

  close(): Promise<void> {
    return this.#closed ? Promise.resolve() : this.#enqueue(new Uint8Array(0), true)
  }

  #enqueue(bytes: Uint8Array, last: boolean): Promise<void> {
    if (this.#closed) {
      return Promise.reject(
        new HearthError('process_not_found', 'standard input of the process is closed', {
          suggestion: 'Spawn it with `stdin: "pipe"`, and write before it is closed.',
        }),
      )
    }
    this.#closed = last
    return new Promise((resolve, reject) => {
      this.#waiting.push({ bytes, last, resolve, reject })
      if (!this.#sending) void this.#sendAll()
    })
  }

  /** Each caller hears of the request that carried its bytes; a later one finds out for itself. */
  async #sendAll(): Promise<void> {
    this.#sending = true
    for (let batch = this.#nextBatch(); batch.length > 0; batch = this.#nextBatch()) {
      try {
        await this.#send(concatenate(batch.map((write) => write.bytes)), batch.at(-1)?.last === true)
        for (const write of batch) write.resolve()
      } catch (error) {
        for (const write of batch) write.reject(error)
      }
    }
    this.#sending = false
  }

  #nextBatch(): Write[] {
    let bytes = 0
    let count = 0
    for (const write of this.#waiting) {
      bytes += write.bytes.length
      if (count > 0 && bytes > REQUEST_BYTES) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  async #send(body: Uint8Array, eof: boolean): Promise<void> {
    await this.#client.done({
      method: 'PUT',
      path: `/processes/${this.#process}/stdin`,
      query: { eof: eof ? true : undefined },
      headers: { 'content-type': 'application/octet-stream' },
      body,
      signal: this.#signal,
      timeoutMs: null,
    })
  }
}
