import { Agent, request } from 'node:http'
import type { Readable } from 'node:stream'

const agent = new Agent({ keepAlive: true, maxSockets: 4 })

export interface HttpCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer | (() => Readable)
}

/** One request and all of its answer, with as little in between as Node has: so the server is what is measured, whatever it speaks. */
export async function send({ method, url, headers, body }: HttpCall): Promise<Buffer> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, (answer) => {
      const pieces: Buffer[] = []
      answer.on('data', (piece: Buffer) => pieces.push(piece))
      answer.once('error', reject)
      answer.once('end', () => {
        const all = Buffer.concat(pieces)
        if ((answer.statusCode ?? 0) < 300) resolve(all)
        else reject(new Error(`${method} ${url}: ${answer.statusCode} ${all.toString('utf8', 0, 300)}`))
      })
    })
    sent.once('error', reject)
    if (typeof body === 'function') body().pipe(sent)
    else sent.end(body)
  })
}

/** The answer is counted and thrown away. */
export async function receive({ method, url, headers }: HttpCall): Promise<number> {
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent }, (answer) => {
      let length = 0
      answer.on('data', (piece: Buffer) => (length += piece.length))
      answer.once('error', reject)
      answer.once('end', () => resolve(length))
    })
    sent.once('error', reject)
    sent.end()
  })
}
