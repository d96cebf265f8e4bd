import { once } from 'node:events'
import { request, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { TestServer } from './testing/test-server.ts'

it('a request that cannot be read is answered as itself, whatever others are under way', async () => {
  await using server = await TestServer.start()
  const { port } = new URL(server.url)
  const get = async (
    id: string,
    host: string,
  ): Promise<{ readonly status: number | undefined; readonly said: string }> => {
    const headers = { host, 'x-request-id': id, authorization: `Bearer ${server.key}` }
    const asking = request({ host: '127.0.0.1', port, path: '/v1/sandboxes', headers, agent: false }).end()
    const [answer] = (await once(asking, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, said: await text(answer) }
  }
  const names = Array.from({ length: 10 }, (_, index) => `wrong-${index}`)
  const [right, ...wrong] = await Promise.all([get('right', '127.0.0.1'), ...names.map((name) => get(name, 'a b'))])
  expect(right?.status).toBe(200)
  expect(wrong.map(({ status, said }) => [status, (JSON.parse(said) as { error: object }).error])).toEqual(
    names.map((requestId) => [400, expect.objectContaining({ code: 'invalid_request', requestId }) as object]),
  )
})
