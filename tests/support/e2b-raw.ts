import { Sandbox } from 'e2b'
import { E2bServer, type RawRequest, type Reply } from './e2b-server.ts'

/** Requests that no client of the vendor's would send, to one sandbox and to the control plane. */
export class E2bRaw implements AsyncDisposable {
  readonly server: E2bServer
  readonly sandbox: Sandbox
  token = ''

  private constructor(server: E2bServer, sandbox: Sandbox) {
    this.server = server
    this.sandbox = sandbox
  }

  static async start(): Promise<E2bRaw> {
    const limits = { bodyIdleMs: 1000, jsonBodyMs: 1000, commandBytes: 64 * 1024, uploadBytes: 4 * 1024 * 1024 }
    const server = await E2bServer.start(limits)
    const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' }, timeoutMs: 600_000 })
    const raw = new E2bRaw(server, sandbox)
    raw.token = await raw.tokenOf(server.key)
    return raw
  }

  /** What the control plane gives to a client with this key. */
  async tokenOf(key: string, id = this.sandbox.sandboxId): Promise<string> {
    const answer = await this.control({ method: 'POST', path: `/v2/sandboxes/${id}/connect`, key })
    return (json(answer) as { envdAccessToken: string }).envdAccessToken
  }

  async control({ key = this.server.key, ...request }: RawRequest & { readonly key?: string }): Promise<Reply> {
    return await this.server.raw({ ...request, headers: { 'x-api-key': key, ...request.headers } })
  }

  async envd(request: RawRequest, given = this.token): Promise<Reply> {
    const named = { 'e2b-sandbox-id': this.sandbox.sandboxId, 'e2b-sandbox-port': '49983', 'x-access-token': given }
    return await this.server.raw({ method: 'POST', ...request, headers: { ...named, ...request.headers } })
  }

  async start(body: readonly (string | Buffer)[], type = 'application/connect+json'): Promise<Reply> {
    return await this.envd({ path: '/process.Process/Start', headers: { 'content-type': type }, body })
  }

  /** A unary call in JSON. */
  async call(path: string, body: object, given = this.token): Promise<unknown> {
    const headers = { 'content-type': 'application/json' }
    return json(await this.envd({ path: `/${path}`, headers, body: [JSON.stringify(body)] }, given))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}

export function json(reply: Reply): unknown {
  return JSON.parse(reply.body.toString('utf8'))
}
