import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'

export type Intercept = (
  request: IncomingMessage,
  response: ServerResponse,
  upstream: () => Promise<Buffer>,
) => Promise<boolean>

/** A server before a registry that can ask for a login or break answers. What `intercept` does not take is passed on. */
export async function startFront(registry: string, intercept: Intercept): Promise<{ host: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const fetchUpstream = async (): Promise<Response> =>
      await fetch(`http://${registry}${request.url}`, { headers: { accept: request.headers.accept ?? '*/*' } })
    const upstream = async (): Promise<Buffer> => Buffer.from(await (await fetchUpstream()).arrayBuffer())
    void (async () => {
      if (await intercept(request, response, upstream)) return
      const answer = await fetchUpstream()
      response.writeHead(
        answer.status,
        Object.fromEntries([...answer.headers].filter(([name]) => name !== 'content-encoding')),
      )
      response.end(Buffer.from(await answer.arrayBuffer()))
    })().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    host: `127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
