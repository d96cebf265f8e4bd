import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { HearthError, type PortConnection, type RemoteSandbox } from '@hearth/sdk'
import { presentOne, type Presentation } from '../output/present.ts'
import { write } from '../output/write.ts'

const LOOPBACK = '127.0.0.1'

/** Until it is interrupted, connections to a port of this machine are connections to a port of the sandbox. Loopback alone. */
export async function forwardPort(
  sandbox: RemoteSandbox,
  port: number,
  local: number,
  options: Presentation,
): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    forward(sandbox, port, socket).catch((error: unknown) => {
      socket.destroy()
      if (options.quiet !== true) process.stderr.write(`hearth: ${error instanceof Error ? error.message : 'failed'}\n`)
    })
  })
  const listening = await listen(server, local)
  const address = `${LOOPBACK}:${listening}`
  const people = (): string => `http://${address} leads to port ${port} of ${sandbox.id}; Ctrl-C ends that\n`
  const json = { sandbox: sandbox.id, port, address: LOOPBACK, local: listening }
  await presentOne(options, { id: address, json, people })
  await new Promise<void>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => resolve())
  })
  server.close()
  for (const socket of sockets) socket.destroy()
  return 0
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(notListening(error, port)))
    server.listen({ host: LOOPBACK, port }, () => resolve())
  })
  return (server.address() as AddressInfo).port
}

function notListening(error: NodeJS.ErrnoException, port: number): Error {
  if (error.code !== 'EADDRINUSE' && error.code !== 'EACCES') return error
  const reason = error.code === 'EACCES' ? 'is not allowed to you' : 'is in use'
  return new HearthError('conflict', `port ${port} of this machine ${reason}`, {
    suggestion: 'Name another one after the colon; 0 takes any that is free.',
  })
}

async function forward(sandbox: RemoteSandbox, port: number, socket: Socket): Promise<void> {
  // A client that breaks off is met where its bytes are written and read.
  socket.on('error', () => undefined)
  await using connection = await sandbox.port(port).connect()
  await Promise.all([outwards(socket, connection), inwards(connection, socket)])
}

async function outwards(socket: Socket, connection: PortConnection): Promise<void> {
  for await (const chunk of socket) await connection.write(chunk as Buffer)
  await connection.end()
}

async function inwards(connection: PortConnection, socket: Socket): Promise<void> {
  for await (const chunk of connection.data) await write(socket, chunk)
  socket.end()
}
