import type { Readable } from 'node:stream'
import type { ApiProcess } from '../../tests/support/api-process.ts'
import type { DialectApi, FileCalls } from './api.ts'
import { receive, send, type HttpCall } from './http-calls.ts'

const ENVD = { 'e2b-sandbox-port': '49983' }
const BYTES = 'application/octet-stream'

/** As E2B's clients call it without name resolution: the sandbox is in headers. */
export class E2bApi implements DialectApi, FileCalls {
  readonly name = 'E2B'
  readonly command = ['/bin/true']
  readonly files = this
  readonly #server: ApiProcess
  readonly #tokens = new Map<string, string>()
  readonly #start: Buffer

  constructor(server: ApiProcess) {
    this.#server = server
    const request = Buffer.from(JSON.stringify({ process: { cmd: '/bin/true', args: [] }, stdin: false }))
    const header = Buffer.alloc(5)
    header.writeUInt32BE(request.length, 1)
    this.#start = Buffer.concat([header, request])
  }

  async create(): Promise<string> {
    const body = JSON.stringify({ templateID: 'host', metadata: { 'hearth.rung': 'process' } })
    const made = await send(this.#control('POST', '/v2/sandboxes', body))
    const { sandboxID = '', envdAccessToken = '' } = JSON.parse(made.toString()) as Record<string, string>
    const id = sandboxID.replace(/^sb/, 'sb_')
    this.#tokens.set(id, envdAccessToken)
    return id
  }

  async remove(id: string): Promise<void> {
    await send(this.#control('DELETE', `/sandboxes/${vendorId(id)}`))
  }

  /** The whole stream, from its start to its end. */
  async exec(id: string): Promise<void> {
    await send(this.#envd(id, 'POST', '/process.Process/Start', 'application/connect+json', this.#start))
  }

  async write(id: string, path: string, content: () => Readable): Promise<void> {
    await send(this.#envd(id, 'POST', `/files?path=${encodeURIComponent(path)}`, BYTES, content))
  }

  async read(id: string, path: string): Promise<number> {
    return await receive(this.#envd(id, 'GET', `/files?path=${encodeURIComponent(path)}`, BYTES))
  }

  #control(method: string, path: string, body?: HttpCall['body']): HttpCall {
    const headers = { 'x-api-key': this.#server.key, 'content-type': 'application/json' }
    return { method, url: `${this.#server.dialectUrl('e2b')}${path}`, headers, ...(body === undefined ? {} : { body }) }
  }

  #envd(id: string, method: string, path: string, type: string, body?: HttpCall['body']): HttpCall {
    const named = { ...ENVD, 'e2b-sandbox-id': vendorId(id), 'x-access-token': this.#tokens.get(id) ?? '' }
    return { ...this.#control(method, path, body), headers: { ...named, 'content-type': type } }
  }
}

function vendorId(id: string): string {
  return id.replace('_', '')
}
