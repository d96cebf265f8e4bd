// For tests and benches: servers of others that must be told their port.
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'

/** A port of the loopback on which nothing listens at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
