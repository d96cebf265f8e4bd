import type { Readable } from 'node:stream'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import type { DialectApi, FileCalls } from './api.ts'
import { receive, send, type HttpCall } from './http-calls.ts'

export class PandaStackApi implements DialectApi, FileCalls {
  readonly name = 'PandaStack'
  readonly command = 'true'
  readonly files = this
  readonly #server: ApiProcess

  constructor(server: ApiProcess) {
    this.#server = server
  }

  async create(): Promise<string> {
    const body = JSON.stringify({ template: 'host', ttl_seconds: 300, metadata: { 'hearth.rung': 'process' } })
    const made = await send(this.#call('POST', '/sandboxes', body))
    return (JSON.parse(made.toString()) as { id: string }).id
  }

  async remove(id: string): Promise<void> {
    await send(this.#call('DELETE', `/sandboxes/${id}`))
  }

  async exec(id: string): Promise<void> {
    await send(this.#call('POST', `/sandboxes/${id}/exec`, JSON.stringify({ cmd: this.command })))
  }

  async write(id: string, path: string, content: () => Readable): Promise<void> {
    await send(this.#call('PUT', `/sandboxes/${id}/fs?path=${encodeURIComponent(path)}`, content))
  }

  async read(id: string, path: string): Promise<number> {
    return await receive(this.#call('GET', `/sandboxes/${id}/fs?path=${encodeURIComponent(path)}`))
  }

  #call(method: string, path: string, body?: HttpCall['body']): HttpCall {
    const headers = { authorization: `Bearer ${this.#server.key}`, 'content-type': 'application/json' }
    const url = `${this.#server.dialectUrl('pandastack')}/v1${path}`
    return { method, url, headers, ...(body === undefined ? {} : { body }) }
  }
}
