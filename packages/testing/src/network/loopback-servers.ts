import { createServer as createHttp } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net'
import { createServer as createTls, type SecureContext } from 'node:tls'

/** Servers on the loopback of the host that stand for names out there. Each says on which port it listens. */
export interface LoopbackServers {
  /** Gives back what it gets, and ends when the client does. */
  readonly echo: number
  /** Speaks first. */
  readonly banner: number
  /** Sends for ever, and takes everything. */
  readonly endless: number
  readonly web: number
  /** Gives back what it gets, over TLS. */
  readonly tls: number
  readonly secureWeb: number
  /** Connections to any of them so far. */
  connections(): number
  /** The headers of the last request to `secureWeb`. */
  lastHeaders(): Readonly<Record<string, string>>
  close(): void
}

export async function startServers(contextFor: (name: string) => Promise<SecureContext>): Promise<LoopbackServers> {
  const sockets = new Set<Socket>()
  let connections = 0
  let lastHeaders: Record<string, string> = {}
  const servers: Server[] = []
  const start = async (server: Server): Promise<number> => {
    servers.push(server)
    server.on('connection', (socket: Socket) => {
      connections++
      sockets.add(socket)
      socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }
  const halfOpen = { allowHalfOpen: true }
  const SNICallback = callbackOf(contextFor)
  return {
    echo: await start(createTcp(halfOpen, (socket) => void socket.pipe(socket))),
    banner: await start(createTcp((socket) => void socket.write('220 ready\n'))),
    endless: await start(createTcp(halfOpen, flood)),
    web: await start(createHttp((request, response) => response.end(`web ${request.headers.host} ${request.url}`))),
    tls: await start(createTls({ ...halfOpen, SNICallback }, (socket) => void socket.pipe(socket))),
    secureWeb: await start(
      createHttps({ SNICallback }, (request, response) => {
        lastHeaders = Object.fromEntries(Object.entries(request.headers).map(([key, value]) => [key, String(value)]))
        response.end(`${request.method} ${request.url} ${request.headers.authorization ?? ''}`)
      }),
    ),
    connections: () => connections,
    lastHeaders: () => lastHeaders,
    close: () => {
      for (const server of servers) server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

type Done = (error: Error | null, context?: SecureContext) => void

function callbackOf(contextFor: (name: string) => Promise<SecureContext>): (name: string, done: Done) => void {
  const answer = async (name: string, done: Done): Promise<void> => {
    const context = await contextFor(name)
    done(null, context)
  }
  return (name, done) => void answer(name, done)
}

function flood(socket: Socket): void {
  const chunk = Buffer.alloc(64 * 1024, '.')
  const send = (): void => {
    while (socket.writable && socket.write(chunk));
  }
  socket.on('drain', send).resume()
  send()
}
