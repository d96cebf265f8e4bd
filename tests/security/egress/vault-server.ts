import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { InternetReport } from './places.ts'

type Request = IncomingMessage | Http2ServerRequest
type Handler = (request: Request, response: ServerResponse | Http2ServerResponse) => void

const PACKERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  gzip: gzipSync,
  br: brotliCompressSync,
  zstd: zstdCompressSync,
  deflate: deflateSync,
  'gzip, br': (bytes) => brotliCompressSync(gzipSync(bytes)),
}

const FORMS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  base64: (text) => Buffer.from(text, 'latin1').toString('base64'),
  percent: (text) => Array.from(text, (one) => `%${one.charCodeAt(0).toString(16).padStart(2, '0')}`).join(''),
  json: (text) => Array.from(text, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  nested: (text) => Array.from(text, (one) => `\\\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  lines: (text) => inLines(Buffer.from(text, 'latin1').toString('base64')),
}

/** As an API gives it back in JSON that was stored as an attachment. */
function inLines(text: string): string {
  return text.match(/.{1,20}/g)?.join(String.raw`\n`) ?? text
}

/** The most careless server there is: it gives back what it gets in whatever field and notation it is asked to, also later. */
export function answerRequest(report: InternetReport): Handler {
  let stored = ''
  return (request, response) => {
    const parts: Buffer[] = []
    request.on('error', () => request.destroy()).on('data', (chunk: Buffer) => parts.push(chunk))
    request.on('end', () => {
      // Node ends a request of HTTP/2 also when it was broken off.
      if ('stream' in request && request.stream.aborted) return
      const whole = dump(request, Buffer.concat(parts))
      const { method = '', url = '' } = request
      report.requests.push({ address: request.socket.localAddress ?? '', method, url, whole })
      const asked = new URL(url, 'https://x')
      if (asked.pathname === '/store') stored = secretOf(request, whole)
      const secret = asked.pathname === '/stored' ? stored : secretOf(request, whole)
      // SAFETY: both kinds of response have the methods that are used here.
      reflect(asked, secret, whole, response as ServerResponse)
    })
  }
}

function dump({ method, url, rawHeaders, rawTrailers }: Request, body: Buffer): string {
  return [method, url, ...rawHeaders, body.toString('latin1'), ...rawTrailers].join('\n')
}

/** What came in the place where a secret belongs. */
function secretOf({ headers }: Request, whole: string): string {
  const [scheme = '', credential = ''] = (headers.authorization ?? '').split(' ')
  if (scheme === 'Basic') return Buffer.from(credential, 'base64').toString('latin1')
  return credential === '' ? (/[a-z]{3}_[A-Za-z0-9]{32}/.exec(whole)?.[0] ?? '') : credential
}

function reflect(asked: URL, secret: string, whole: string, response: ServerResponse): void {
  const to = asked.searchParams.get('to')
  if (to !== null) return void response.writeHead(302, { location: to }).end()
  if (asked.pathname === '/open/slow') return void setTimeout(() => response.end('slow'), 300)
  const place = asked.searchParams.get('place') ?? 'body'
  const text = (FORMS[asked.searchParams.get('form') ?? 'plain'] ?? String)(secret)
  const headers: Record<string, string> = { header: { 'x-reflected': text }, cookie: { 'set-cookie': `a=${text}` } }[
    place
  ] ?? {
    ...(place === 'location' ? { location: `https://stranger.example/?${text}` } : {}),
    ...(place === 'etag' ? { etag: `"${text}"` } : {}),
    ...(place === 'origin' ? { 'access-control-allow-origin': `https://${text}` } : {}),
    ...(place === 'trailers' ? { trailer: 'x-reflected' } : {}),
    ...(place === 'name' && /^\w+$/.test(text) ? { [`x-${text}`]: '1' } : {}),
  }
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (place === 'reason' && !('stream' in response)) response.statusMessage = text
  response.statusCode = place === 'error' ? 500 : 200
  const pack = asked.searchParams.get('pack') ?? ''
  const body = place === 'body' || place === 'error' ? `${text}\n${whole}` : 'nothing here'
  if (pack !== '') response.setHeader('content-encoding', pack)
  sendCut(
    response,
    PACKERS[pack]?.(Buffer.from(body, 'latin1')) ?? Buffer.from(body, 'latin1'),
    Number(asked.searchParams.get('cut') ?? 0),
  )
  if (place === 'trailers') response.addTrailers({ 'x-reflected': text })
  response.end()
}

function sendCut(response: ServerResponse, bytes: Buffer, cut: number): void {
  const size = cut === 0 ? Math.max(1, bytes.length) : cut
  for (let at = 0; at < bytes.length; at += size) response.write(bytes.subarray(at, at + size))
}
