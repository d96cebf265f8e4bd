import type { Readable } from 'node:stream'
import type { Command } from '@hearth/contract'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import type { Api, FileCalls } from './api.ts'
import { receive, send, type HttpCall } from './http-calls.ts'

/** The floor of all others. */
export class NativeApi implements Api, FileCalls {
  readonly name = 'native'
  readonly #server: ApiProcess

  constructor(server: ApiProcess) {
    this.#server = server
  }

  async create(): Promise<string> {
    const body = JSON.stringify({ rung: 'process', template: 'host', ttlMs: 300_000 })
    const made = await send(this.#call('POST', '/sandboxes', body))
    return (JSON.parse(made.toString()) as { id: string }).id
  }

  async remove(id: string): Promise<void> {
    await send(this.#call('DELETE', `/sandboxes/${id}`))
  }

  async exec(id: string, command: Command): Promise<void> {
    await send(this.#call('POST', `/sandboxes/${id}/exec`, JSON.stringify({ command })))
  }

  async write(id: string, path: string, content: () => Readable): Promise<void> {
    await send(this.#call('PUT', `/sandboxes/${id}/files?path=${encodeURIComponent(path)}`, content))
  }

  async read(id: string, path: string): Promise<number> {
    return await receive(this.#call('GET', `/sandboxes/${id}/files?path=${encodeURIComponent(path)}`))
  }

  #call(method: string, path: string, body?: HttpCall['body']): HttpCall {
    const headers = { authorization: `Bearer ${this.#server.key}`, 'content-type': 'application/json' }
    return { method, url: `${this.#server.url}/v1${path}`, headers, ...(body === undefined ? {} : { body }) }
  }
}
