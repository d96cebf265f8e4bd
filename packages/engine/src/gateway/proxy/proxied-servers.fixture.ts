import { once } from 'node:events'
import { createServer as createHttp } from 'node:http'
import { createServer as createTcp, type AddressInfo } from 'node:net'
import type { Policy } from '@hearth/contract'

const LOOPBACK = { addresses: ['127.0.0.0/8'] }

/** Servers, and a policy with a proxy that allows names which lead to them. */
export class ProxiedServers implements Disposable {
  /** What the web server was asked, with its head as it came. */
  readonly seen: string[] = []
  readonly #web = createHttp((request, response) => {
    this.seen.push(`${request.method} ${request.url} ${request.rawHeaders.join('|')}`)
    request.pipe(response)
    if (request.method === 'GET') response.end(`kindled at ${request.headers.host}`)
  })
  readonly #echo = createTcp((socket) => void socket.on('error', () => undefined).pipe(socket))

  static async start(): Promise<ProxiedServers> {
    const servers = new ProxiedServers()
    const all = [servers.#web, servers.#echo]
    await Promise.all(all.map((server) => once(server.listen(0, '127.0.0.1'), 'listening')))
    return servers
  }

  get web(): number {
    return (this.#web.address() as AddressInfo).port
  }

  get echo(): number {
    return (this.#echo.address() as AddressInfo).port
  }

  get policy(): Policy {
    return {
      allow: [
        { name: 'web.example', ports: [this.web], ...LOOPBACK },
        { name: 'second.example', ports: [this.web], ...LOOPBACK },
        { name: 'echo.example', ports: [this.echo], ...LOOPBACK },
        { name: 'private.example', ports: [this.web] },
        { name: 'rules.example', ports: [this.web], methods: ['GET'], paths: ['/open/**'], ...LOOPBACK },
      ],
      proxy: true,
    }
  }

  /** A request as it is sent to a proxy. */
  get(name: string, more = ''): string {
    return `GET http://${name}:${this.web}/path?q HTTP/1.1\r\nHost: ${name}:${this.web}\r\n${more}\r\n`
  }

  [Symbol.dispose](): void {
    this.#web.close()
    this.#echo.close()
  }
}

export const connectTo = (target: string, more = ''): string =>
  `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${more}\r\n`
