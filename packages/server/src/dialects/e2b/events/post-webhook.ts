import { request, type ClientRequest } from 'node:http'
import { isIP, type Socket } from 'node:net'
import { connect } from 'node:tls'
import type { Dialer } from '@hearth/engine/dial'

/** What a receiver says is thrown away, and not read beyond this. */
const MOST_ANSWER = 64 * 1024

export interface Posting {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface PostOptions {
  readonly dialer: Dialer
  /** Networks that are not public and may be reached nevertheless. */
  readonly networks: readonly string[]
  /** For all of it, from the name to the end of the answer. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Sends it and gives the status of the answer. The connection goes to an address that was looked at, as those of sandboxes do; redirects are
 * not followed.
 */
export async function postWebhook({ url, body, headers }: Posting, options: PostOptions): Promise<number> {
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), options.signal])
  const secure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const port = url.port === '' ? (secure ? 443 : 80) : Number(url.port)
  const plain = await options.dialer.dial(host, port, { addresses: options.networks, signal })
  try {
    const socket = secure ? await encrypted(plain, host, signal) : plain
    const length = { 'content-length': String(Buffer.byteLength(body)), connection: 'close' }
    return await statusOf(
      request({
        method: 'POST',
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, ...length, host: url.host },
        createConnection: () => socket,
        signal,
      }),
      body,
    )
  } finally {
    plain.destroy()
  }
}

async function encrypted(socket: Socket, host: string, signal: AbortSignal): Promise<Socket> {
  return await new Promise((resolve, reject) => {
    const secured = connect({ socket, host, ...(isIP(host) === 0 ? { servername: host } : {}) })
    const abandon = (): void => void secured.destroy(new Error('no handshake in time'))
    signal.addEventListener('abort', abandon, { once: true })
    secured.once('error', reject)
    secured.once('secureConnect', () => {
      signal.removeEventListener('abort', abandon)
      resolve(secured)
    })
  })
}

async function statusOf(sent: ClientRequest, body: string): Promise<number> {
  return await new Promise((resolve, reject) => {
    sent.once('error', reject)
    sent.once('response', (answer) => {
      const status = answer.statusCode ?? 0
      let length = 0
      answer.on('data', (piece: Buffer) => {
        length += piece.length
        if (length > MOST_ANSWER) resolve(status)
      })
      answer.once('end', () => resolve(status))
      answer.once('error', reject)
    })
    sent.end(body)
  })
}
