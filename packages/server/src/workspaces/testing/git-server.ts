// For tests: a server that speaks git over HTTP on the loopback, and opens to one password alone.
import { spawn } from 'node:child_process'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly path: string
  readonly authorization: string
}

export class GitServer implements AsyncDisposable {
  readonly asked: Asked[] = []
  /** When it is set, every request is sent there. */
  redirect: string | null = null
  readonly #root: string
  readonly #password: string
  readonly #server: Server

  private constructor(root: string, password: string) {
    this.#root = root
    this.#password = password
    this.#server = createServer((request, response) => void this.#answer(request, response))
  }

  /** Serves the repositories below a directory. */
  static async start(root: string, password: string): Promise<GitServer> {
    const server = new GitServer(root, password)
    await new Promise<void>((resolve) => server.#server.listen(0, '127.0.0.1', resolve))
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { authorization = '' } = request.headers
    const [path = '', query = ''] = (request.url ?? '').split('?')
    this.asked.push({ path, authorization })
    if (this.redirect !== null)
      return void response.writeHead(302, { location: `${this.redirect}${path}?${query}` }).end()
    const given = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString()
    if (!given.endsWith(`:${this.#password}`))
      return void response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end('no')
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env['PATH'],
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '2',
        GIT_CONFIG_KEY_0: 'http.receivepack',
        GIT_CONFIG_VALUE_0: 'true',
        GIT_CONFIG_KEY_1: 'safe.directory',
        GIT_CONFIG_VALUE_1: '*',
        PATH_INFO: path,
        QUERY_STRING: query,
        REQUEST_METHOD: request.method,
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        HTTP_GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_USER: 'somebody',
      },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    request.pipe(backend.stdin)
    const chunks: Buffer[] = []
    for await (const chunk of backend.stdout) chunks.push(chunk as Buffer)
    const whole = Buffer.concat(chunks)
    const end = whole.indexOf('\r\n\r\n')
    const heads = whole
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ') as [string, string])
    const status = Number(heads.find(([name]) => name === 'Status')?.[1].slice(0, 3) ?? 200)
    response.writeHead(status, heads.filter(([name]) => name !== 'Status').flat()).end(whole.subarray(end + 4))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
