import type { LinkForm, Port, PortConnection } from '@hearth/contract'
import { assertNotAborted, hasCode, HearthError } from '../hearth-error.ts'
import type { SandboxClient } from '../sandboxes/sandbox-client.ts'
import { connectPort } from './port-connection.ts'

const DEFAULT_READY_MS = 30_000
/** Below what anything between here and the server holds a silent request open for. */
const ONE_WAIT_MS = 20_000

/** How `RemotePort.link` makes a link. */
export interface LinkOptions {
  /** How long it works, in milliseconds. Default: one hour. */
  readonly ttlMs?: number
  /** A host name of its own, or a path of the server, which needs no such names. Default: what the server is set up for. */
  readonly form?: LinkForm
  readonly signal?: AbortSignal
}

export interface PortLink {
  /** Works without a key, until it expires. */
  readonly url: string
  readonly expiresAt: Date
}

/** A port inside a remote sandbox. */
export class RemotePort implements Port {
  readonly port: number
  /** Where the program behind the port answers HTTP, for requests that carry the key. */
  readonly url: string
  readonly #client: SandboxClient

  constructor(port: number, client: SandboxClient) {
    this.port = port
    this.#client = client
    this.url = client.connection.http.urlOf(client.pathOf(`/ports/${port}/`))
  }

  /** Needs a WebSocket: Node has one from version 22 on, others may be given to the client. */
  async connect(options: { readonly signal?: AbortSignal } = {}): Promise<PortConnection> {
    return await connectPort(this.#client, this.port, options.signal)
  }

  async ready(options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {}): Promise<void> {
    const timeoutMs = options.timeoutMs ?? DEFAULT_READY_MS
    const until = Date.now() + timeoutMs
    for (;;) {
      assertNotAborted(options.signal)
      const left = Math.max(1, Math.min(until - Date.now(), ONE_WAIT_MS))
      try {
        return await this.#client.done({
          method: 'GET',
          path: `/ports/${this.port}/ready`,
          query: { timeoutMs: Math.ceil(left) },
          signal: options.signal,
          timeoutMs: null,
        })
      } catch (error) {
        if (!hasCode(error, 'timeout')) throw error
        if (Date.now() >= until) {
          throw new HearthError('timeout', `nothing listens on port ${this.port} after ${timeoutMs} ms`, {
            cause: error,
          })
        }
      }
    }
  }

  /** A request to the program behind the port. Its answer is given as it is, also when it is no success. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    return await this.#client.connection.http.pass(this.#client.pathOf(`/ports/${this.port}`), path, init)
  }

  /**
   * An address that can be given to somebody without a key.
   *
   * @example
   * const { url } = await sandbox.port(8000).link({ ttlMs: 60_000 })
   */
  async link(options: LinkOptions = {}): Promise<PortLink> {
    const { url, expiresAt } = await this.#client.json<{ url: string; expiresAt: string }>({
      method: 'POST',
      path: `/ports/${this.port}/link`,
      json: { ttlMs: options.ttlMs, form: options.form },
      signal: options.signal,
    })
    return { url, expiresAt: new Date(expiresAt) }
  }
}
