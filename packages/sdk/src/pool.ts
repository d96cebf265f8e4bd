import type { PoolReport } from '@hearth/contract'
import type { CallOptions, HttpClient } from './transport/http-client.ts'

/** Machines of the server's host that wait for sandboxes. For operators. */
export class Pool {
  readonly #http: HttpClient

  constructor(http: HttpClient) {
    this.#http = http
  }

  async get(options: CallOptions = {}): Promise<PoolReport> {
    return await this.#http.json({ method: 'GET', path: '/pool', signal: options.signal })
  }

  /** What they may hold of the host's memory, until the server is started again; 0 turns the pool off. */
  async set(request: { readonly memoryBytes: number }, options: CallOptions = {}): Promise<PoolReport> {
    return await this.#http.json({ method: 'PUT', path: '/pool', json: request, signal: options.signal })
  }
}
