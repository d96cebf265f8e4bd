import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { startGateway } from './inspected.fixture.ts'

const NAME = 'api.test'

it('a client that ends its side after the request gets the answer', async () => {
  const late = createServer((_, response) => void setTimeout(() => response.end('late'), 100)).listen(0, '127.0.0.1')
  await once(late, 'listening')
  const upstreamPort = (late.address() as { port: number }).port
  const plain = await startGateway({ name: NAME, upstreamPort, upstreamRoot: '', secure: false })
  const socket = connect({ port: plain.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.end(`GET / HTTP/1.1\r\nHost: ${NAME}:${plain.port}\r\n\r\n`)
  const pieces: Buffer[] = []
  for await (const piece of socket) pieces.push(piece as Buffer)
  expect(Buffer.concat(pieces).toString()).toMatch(/^HTTP\/1\.1 200[^]*late/)
  plain.close()
  late.close()
})
