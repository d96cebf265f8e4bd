import { request, type ClientRequest } from 'node:http'
import { openConnection, type ConnectionOptions } from '../../../outgoing/open-connection.ts'

/** What a receiver says is thrown away, and not read beyond this. */
const MOST_ANSWER = 64 * 1024

export interface Posting {
  readonly url: URL
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

export interface PostOptions extends ConnectionOptions {
  /** For all of it, from the name to the end of the answer. */
  readonly timeoutMs: number
}

/**
 * Sends it and gives the status of the answer. The connection goes to an address that was looked at, as those of sandboxes do; redirects are
 * not followed.
 */
export async function postWebhook({ url, body, headers }: Posting, options: PostOptions): Promise<number> {
  const signal = AbortSignal.any([AbortSignal.timeout(options.timeoutMs), options.signal])
  const socket = await openConnection(url, { ...options, signal })
  try {
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
    socket.destroy()
  }
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
