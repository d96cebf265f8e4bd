import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Repositories behind a token, served by git itself. */
export class GitServer implements AsyncDisposable {
  readonly #root: string
  readonly #authorization: string

  private constructor(root: string, token: string) {
    this.#root = root
    this.#authorization = `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`
  }

  static async start(token: string, names: readonly string[]): Promise<GitServer> {
    const root = await mkdtemp(join(tmpdir(), 'hearth-git-'))
    const git = promisify(execFile)
    for (const name of names) {
      await git('git', ['init', '-q', '--bare', '-b', 'main', join(root, 'git', name)])
      await git('git', ['-C', join(root, 'git', name), 'config', 'http.receivepack', 'true'])
    }
    return new GitServer(root, token)
  }

  answer(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers.authorization !== this.#authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const url = new URL(request.url ?? '', 'https://x')
    const child = spawn('git', ['http-backend'], {
      env: {
        ...process.env,
        GIT_PROJECT_ROOT: this.#root,
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method ?? '',
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
        REMOTE_USER: 'agent',
      },
    })
    request.pipe(child.stdin.on('error', () => undefined))
    const parts: Buffer[] = []
    child.stdout
      .on('data', (chunk: Buffer) => parts.push(chunk))
      .once('end', () => passOn(Buffer.concat(parts), response))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true })
  }
}

/** The answer of a CGI program. */
function passOn(output: Buffer, response: ServerResponse): void {
  const at = output.indexOf('\r\n\r\n')
  for (const line of output.toString('latin1', 0, at).split('\r\n')) {
    const [name = '', value = ''] = line.split(': ', 2)
    if (name === 'Status') response.statusCode = Number(value.slice(0, 3))
    else response.setHeader(name, value)
  }
  response.end(output.subarray(at + 4))
}
