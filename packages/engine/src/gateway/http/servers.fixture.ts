import { execFile } from 'node:child_process'
import { createServer as createPlainServer } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { Duplex } from 'node:stream'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callbackify, promisify } from 'node:util'
import { CertificateAuthority } from '../tls/authority.ts'
import { listening } from './inspected.fixture.ts'

/** The responses of both protocols have what tests need in common. */
export type Answer = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse, body: Buffer) => void

export interface TestServer {
  readonly port: number
  readonly root: string
  readonly requests: {
    url: string
    version: string
    headers: Record<string, unknown>
    body: Buffer
    trailers: unknown
  }[]
  close(): void
}

/** A server of HTTP/1.1 and HTTP/2 behind TLS, or of HTTP/1.1 without, that keeps what it was asked. */
export async function startServer(
  answer: Answer,
  options: { plain?: boolean; onUpgrade?: (request: IncomingMessage, socket: Duplex) => void } = {},
): Promise<TestServer> {
  const authority = await CertificateAuthority.create()
  const requests: TestServer['requests'] = []
  const listen = (
    request: IncomingMessage | Http2ServerRequest,
    response: ServerResponse | Http2ServerResponse,
  ): void => {
    const parts: Buffer[] = []
    request.on('error', () => request.destroy())
    request.on('data', (chunk: Buffer) => parts.push(chunk))
    request.on('end', () => {
      // Node ends a request of HTTP/2 also when it was broken off.
      if ('stream' in request && request.stream.aborted) return
      const body = Buffer.concat(parts)
      const { url = '', httpVersion, headers, trailers } = request
      requests.push({ url, version: httpVersion, headers, body, trailers })
      answer(request, response as unknown as ServerResponse, body)
    })
  }
  const server =
    options.plain === true
      ? createPlainServer(listen)
      : createSecureServer(
          { allowHTTP1: true, SNICallback: callbackify((name: string) => authority.contextFor(name)) },
          listen,
        )
  if (options.onUpgrade !== undefined) server.on('upgrade', options.onUpgrade)
  server.on('sessionError', () => undefined).on('clientError', (_error: Error, socket: Duplex) => socket.destroy())
  server.listen(0, '127.0.0.1')
  return { port: await listening(server), root: authority.certificate, requests, close: () => void server.close() }
}

export interface Curl {
  (...args: readonly string[]): Promise<{ status: number; body: string; head: string; failed: string | null }>
}

/** Unmodified curl that trusts the gateway's authority and finds the name at its port. */
export async function curlFor(
  name: string,
  port: number,
  root: string,
): Promise<{ curl: Curl; remove: () => Promise<void>; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-curl-'))
  const authority = join(directory, 'ca.pem')
  await writeFile(authority, root)
  const always = ['-sS', '-i', '--max-time', '15', '--cacert', authority, '--resolve', `${name}:${port}:127.0.0.1`]
  const curl: Curl = async (...args) => {
    const options = { encoding: 'latin1', maxBuffer: 64 * 1024 * 1024 } as const
    const { stdout, failed } = await promisify(execFile)('curl', [...always, ...args], options).then(
      ({ stdout: out }) => ({ stdout: out, failed: null }),
      (error: Error & { stdout: string; stderr: string }) => ({ stdout: error.stdout, failed: error.stderr }),
    )
    const { head, body } = lastMessage(stdout)
    return { status: Number(/^HTTP\/\S+ (\d+)/.exec(head)?.[1] ?? 0), head, body, failed }
  }
  return { curl, directory, remove: () => rm(directory, { recursive: true }) }
}

/** Without what came ahead of the answer, such as `100 Continue`. */
function lastMessage(text: string): { head: string; body: string } {
  const at = text.indexOf('\r\n\r\n')
  const [head, body] = [text.slice(0, at), text.slice(at + 4)]
  return /^HTTP\/\S+ 1\d\d/.test(head) ? lastMessage(body) : { head, body }
}
