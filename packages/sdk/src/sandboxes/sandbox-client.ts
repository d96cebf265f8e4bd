import { hasCode, HearthError } from '../hearth-error.ts'
import type { Answer } from '../transport/answer.ts'
import type { Call, HttpClient } from '../transport/http-client.ts'

/** What calls into a sandbox share. */
export interface Connection {
  readonly http: HttpClient
  /** How long broken streams are taken up again. */
  readonly reconnectMs: number
  readonly WebSocket: WebSocketConstructor | null
}

/** The standard constructor, as far as it is used here. */
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike

export interface WebSocketLike {
  binaryType: string
  readonly bufferedAmount: number
  send(data: string | Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  addEventListener(type: 'open' | 'close' | 'error', listener: () => void): void
}

/** Sends calls to one sandbox. Whoever has it knows that it existed: one that is not found any more has ended. */
export class SandboxClient {
  readonly id: string
  readonly connection: Connection
  readonly #path: string
  #ended = false

  constructor(id: string, connection: Connection) {
    this.id = id
    this.connection = connection
    this.#path = `/sandboxes/${encodeURIComponent(id)}`
  }

  get ended(): boolean {
    return this.#ended
  }

  markEnded(): void {
    this.#ended = true
  }

  send(call: Call): Promise<Answer> {
    return this.#checked(() => this.connection.http.send(this.#below(call)))
  }

  json<Value>(call: Call): Promise<Value> {
    return this.#checked(() => this.connection.http.json<Value>(this.#below(call)))
  }

  done(call: Call): Promise<void> {
    return this.#checked(() => this.connection.http.done(this.#below(call)))
  }

  pathOf(path: string): string {
    return `${this.#path}${path}`
  }

  /** The error as a holder of the sandbox should see it. */
  explained(error: unknown): unknown {
    if (!hasCode(error, 'sandbox_ended', 'sandbox_not_found') || this.#isOfAnother(error)) return error
    this.#ended = true
    if (error.code === 'sandbox_ended') return error
    return new HearthError('sandbox_ended', `sandbox ${this.id} has ended`, {
      cause: error,
      requestId: error.requestId,
    })
  }

  /** A call may name another sandbox too, a fork for example, and that may be the one that is gone. */
  #isOfAnother(error: HearthError): boolean {
    const { sandbox } = error.context
    return sandbox !== undefined && sandbox !== this.id
  }

  #below(call: Call): Call {
    return { ...call, path: this.pathOf(call.path) }
  }

  async #checked<Value>(step: () => Promise<Value>): Promise<Value> {
    if (this.#ended) throw new HearthError('sandbox_ended', `sandbox ${this.id} has ended`)
    try {
      return await step()
    } catch (error) {
      throw this.explained(error)
    }
  }
}
