import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly json: Record<string, unknown> | null
}

/** What a server answers instead of what it would. Null: what it would. */
export type Interference = (asked: Asked, answer: ServerResponse) => boolean

/** A server on loopback that speaks the part of both APIs that makes pull requests. Real paths, methods, headers and refusals. */
export class ForgeServer implements AsyncDisposable {
  readonly asked: Asked[] = []
  readonly open: { number: number; branch: string; base: string; title: string; body: string; draft: boolean }[] = []
  token = 'forge-token'
  interfere: Interference = () => false
  readonly #server: Server

  private constructor(server: Server) {
    this.#server = server
  }

  static async start(): Promise<ForgeServer> {
    const server = createServer((incoming, answer) => void forge.#serve(incoming, answer))
    const forge = new ForgeServer(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return forge
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const sent = await text(incoming)
    const { method = '', url = '', headers } = incoming
    const json = sent === '' ? null : (JSON.parse(sent) as Record<string, unknown>)
    const asked = { method, path: url, headers, json }
    this.asked.push(asked)
    if (this.interfere(asked, answer)) return
    if (headers.authorization !== `Bearer ${this.token}`) return reply(answer, 401, { message: 'Bad credentials' })
    const { pathname, searchParams } = new URL(url, this.url)
    if (pathname === '/api/v3/repos/owner/name/pulls') return this.#github(asked, searchParams, answer)
    if (pathname === '/api/v4/projects/group%2Fsub%2Fname/merge_requests')
      return this.#gitlab(asked, searchParams, answer)
    reply(answer, 404, { message: 'Not Found' })
  }

  #github({ method, json }: Asked, query: URLSearchParams, answer: ServerResponse): void {
    const view = ({ number }: { number: number }) => ({ number, html_url: `${this.url}/owner/name/pull/${number}` })
    if (method === 'GET') {
      const [owner, branch] = query.get('head')?.split(':') ?? []
      const found = this.open.filter(
        (one) => owner === 'owner' && one.branch === branch && one.base === query.get('base'),
      )
      return reply(answer, 200, found.map(view))
    }
    const wish = json as { head: string; base: string; title: string; body: string; draft: boolean }
    const { head: branch, base } = wish
    if (branch === base) return reply(answer, 422, invalid(`No commits between ${base} and ${branch}`))
    if (this.open.some((one) => one.branch === branch && one.base === base))
      return reply(answer, 422, invalid(`A pull request already exists for owner:${branch}.`))
    reply(answer, 201, view(this.add({ ...wish, branch })))
  }

  #gitlab({ method, json }: Asked, query: URLSearchParams, answer: ServerResponse): void {
    const view = ({ number }: { number: number }) => ({
      iid: number,
      web_url: `${this.url}/group/sub/name/-/merge_requests/${number}`,
    })
    if (method === 'GET') {
      const [branch, base] = [query.get('source_branch'), query.get('target_branch')]
      return reply(answer, 200, this.open.filter((one) => one.branch === branch && one.base === base).map(view))
    }
    const wish = json as { source_branch: string; target_branch: string; title: string; description: string }
    const { source_branch: branch, target_branch: base, title, description: body } = wish
    if (branch === base) return reply(answer, 400, { message: { source_branch: ['is the target'] } })
    if (this.open.some((one) => one.branch === branch && one.base === base))
      return reply(answer, 409, { message: [`Another open merge request already exists for this source branch: !1`] })
    reply(answer, 201, view(this.add({ branch, base, title, body, draft: title.startsWith('Draft: ') })))
  }

  /** Opens one. */
  add(wish: Omit<ForgeServer['open'][number], 'number'>): ForgeServer['open'][number] {
    const { branch, base, title, body, draft } = wish
    const made = { number: this.open.length + 1, branch, base, title, body, draft }
    this.open.push(made)
    return made
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function invalid(message: string): object {
  return { message: 'Validation Failed', errors: [{ resource: 'PullRequest', code: 'custom', message }] }
}

export function reply(
  answer: ServerResponse,
  status: number,
  json: unknown,
  headers: Record<string, string> = {},
): void {
  answer.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json))
}
