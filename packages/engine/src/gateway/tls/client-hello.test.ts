import { createServer, type Socket } from 'node:net'
import { once } from 'node:events'
import { connect } from 'node:tls'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readClientHello } from './client-hello.ts'

/** What Node's own client says first. */
async function helloOf(options: { servername?: string; ALPNProtocols?: string[] }): Promise<Buffer> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const client = connect({ host: '127.0.0.1', port, ...options })
  client.on('error', () => client.destroy())
  const [socket] = (await once(server, 'connection')) as [Socket]
  const [chunk] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  client.destroy()
  server.close()
  return chunk
}

/** The same in records of this many bytes. */
function fragmented(hello: Buffer, size: number): Buffer {
  const body = hello.subarray(5)
  const records: Buffer[] = []
  for (let at = 0; at < body.length; at += size) {
    const part = body.subarray(at, at + size)
    records.push(Buffer.from([22, 3, 1, part.length >> 8, part.length & 255]), part)
  }
  return Buffer.concat(records)
}

describe('the first flight of a TLS client', () => {
  it('says the name and the protocols', async () => {
    const hello = await helloOf({ servername: 'api.example.test', ALPNProtocols: ['h2', 'http/1.1'] })
    expect(readClientHello(hello)).toEqual({
      kind: 'hello',
      serverName: 'api.example.test',
      encrypted: false,
      protocols: ['h2', 'http/1.1'],
    })
    expect(readClientHello(fragmented(hello, 7))).toMatchObject({ serverName: 'api.example.test' })
  })

  it('may have no name', async () => {
    expect(readClientHello(await helloOf({}))).toMatchObject({ kind: 'hello', serverName: null })
  })

  it('is awaited byte by byte', async () => {
    const hello = await helloOf({ servername: 'a.test' })
    for (let length = 1; length < hello.length; length++) {
      expect(readClientHello(hello.subarray(0, length)).kind).toBe('incomplete')
    }
  })

  it('is something else when it is not TLS', () => {
    expect(readClientHello(Buffer.from('GET / HTTP/1.1\r\n')).kind).toBe('other')
    expect(readClientHello(Buffer.from('SSH-2.0-x')).kind).toBe('other')
  })

  it('never throws, and never finds a name that is not there', async () => {
    const hello = await helloOf({ servername: 'victim.test' })
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        readClientHello(Buffer.from(bytes))
      }),
    )
    fc.assert(
      fc.property(fc.nat(hello.length - 1), fc.nat(255), (at, value) => {
        const mutated = Buffer.from(hello)
        mutated[at] = value
        readClientHello(mutated)
      }),
    )
  })
})
