import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'

export interface Received {
  readonly headers: IncomingMessage['headers']
  readonly path: string
  readonly body: string
  readonly json: Readonly<Record<string, unknown>>
}

/** Somebody who is told events. Answers with what `answer` says; null for never. */
export class WebhookReceiver implements AsyncDisposable {
  readonly received: Received[] = []
  answer: (received: Received) => number | null = () => 200
  #server: Server | null = null
  #port = 0

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver()
    await receiver.listen()
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook?x=1`
  }

  get port(): number {
    return this.#port
  }

  /** The last parts of the types, in the order in which they came. */
  get types(): string[] {
    return this.received.map(({ json }) => String(json['type']).replace('sandbox.lifecycle.', ''))
  }

  async listen(): Promise<void> {
    const server = createServer((incoming, outgoing) => {
      const pieces: Buffer[] = []
      incoming.on('data', (piece: Buffer) => pieces.push(piece))
      incoming.on('end', () => {
        const body = Buffer.concat(pieces).toString('utf8')
        const json = JSON.parse(body) as Received['json']
        const received = { headers: incoming.headers, path: incoming.url ?? '', body, json }
        this.received.push(received)
        const status = this.answer(received)
        if (status !== null) outgoing.writeHead(status, { location: '/elsewhere' }).end('thanks')
      })
    })
    server.listen(this.#port, '127.0.0.1')
    await once(server, 'listening')
    this.#port = (server.address() as AddressInfo).port
    this.#server = server
  }

  async close(): Promise<void> {
    const server = this.#server
    this.#server = null
    if (server === null) return
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}
