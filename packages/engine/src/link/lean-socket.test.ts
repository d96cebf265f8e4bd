import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { LeanSocket } from './lean-socket.ts'

const BYTES = 3_000_000
const shared = Buffer.alloc(65_536)
let server: Server
let port: number

beforeAll(async () => {
  // Says the one byte that it was asked for, again and again.
  server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('data', (asked) => socket.end(Buffer.alloc(BYTES, asked[0])))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})

afterAll(() => server.close())

async function ask(byte: number): Promise<LeanSocket> {
  const socket = new LeanSocket(shared).connect({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  socket.write(Buffer.of(byte))
  return socket
}

it('is a stream as long as nobody takes its bytes, and keeps those of several apart', async () => {
  const all = await Promise.all([1, 2, 3].map(async (byte) => await buffer(await ask(byte))))
  for (const [index, bytes] of all.entries()) expect(bytes.equals(Buffer.alloc(BYTES, index + 1))).toBe(true)
})

it('gives bytes to the one who takes them, no faster than they are wanted, and tells the end', async () => {
  const taken = async (byte: number): Promise<Buffer> => {
    const socket = await ask(byte)
    const parts: Buffer[] = []
    const readMeanwhile: number[] = []
    const goOn = async (bytesRead: number): Promise<void> => {
      await sleep(2)
      readMeanwhile.push(socket.bytesRead - bytesRead)
      socket.resume()
    }
    socket.takeBy((bytes) => {
      parts.push(Buffer.from(bytes))
      if (parts.length % 3 !== 0) return true
      void goOn(socket.bytesRead)
      return false
    })
    await once(socket, 'end')
    expect(new Set(readMeanwhile)).toEqual(new Set([0]))
    return Buffer.concat(parts)
  }
  const all = await Promise.all([4, 5].map(taken))
  for (const [index, bytes] of all.entries()) expect(bytes.equals(Buffer.alloc(BYTES, index + 4))).toBe(true)
})
