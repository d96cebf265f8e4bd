import { connect, type Socket } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')

/** A connection that sends one request again and again. It does so little that the server is what is measured. */
export class RawConnection implements Disposable {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #waiting: PromiseWithResolvers<Buffer> | null = null

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (piece) => this.#take(piece))
    socket.on('error', (error) => this.#waiting?.reject(error))
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')))
  }

  static async open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    return new RawConnection(socket)
  }

  /** The body of the answer, which must be a success of known length. */
  async ask(request: string): Promise<Buffer> {
    this.#waiting = Promise.withResolvers<Buffer>()
    this.#socket.write(request)
    return await this.#waiting.promise
  }

  #take(piece: Buffer): void {
    this.#received = this.#received.length === 0 ? piece : Buffer.concat([this.#received, piece])
    const end = this.#received.indexOf(HEAD_END)
    if (end === -1) return
    const head = this.#received.toString('latin1', 0, end)
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
    if (!head.startsWith('HTTP/1.1 2') || length === undefined) {
      this.#waiting?.reject(new Error(`the server answered ${this.#received.toString('utf8', 0, end + 300)}`))
      return
    }
    const whole = end + HEAD_END.length + Number(length)
    if (this.#received.length < whole) return
    const body = this.#received.subarray(whole - Number(length), whole)
    this.#received = this.#received.subarray(whole)
    this.#waiting?.resolve(body)
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

export function rawRequest(method: string, path: string, key: string, json?: unknown): string {
  const body = json === undefined ? '' : JSON.stringify(json)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'host: localhost',
    `authorization: Bearer ${key}`,
    ...(json === undefined ? [] : ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`]),
  ]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}
