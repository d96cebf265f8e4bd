import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { BOUNDS, type Budgets, type RecordEntry } from '@hearth/contract'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { FIRST_GUEST_CHANNEL } from '../link/guest-channels.ts'
import { decode } from '../link/dispatch.ts'
import { MESSAGE_TYPES } from '../link/messages.gen.ts'
import type { ScriptedPeer } from '../link/scripted-peer.ts'
import { scriptedGateway } from './scripted-gateway.fixture.ts'

/** Speaks first, and never ends. */
let endless: Server
/** Says the sum of what it is sent, which it reads slowly. */
let slow: Server
let ports = { endless: 0, slow: 0 }
const sockets: Socket[] = []

beforeAll(async () => {
  const keep = (socket: Socket): void => void sockets.push(socket.on('error', () => socket.destroy()))
  endless = createServer({ allowHalfOpen: true }, (socket) => void Readable.from(forever()).pipe(socket))
  slow = createServer({ allowHalfOpen: true }, (socket) => void answerSum(socket))
  for (const server of [endless, slow]) await once(server.on('connection', keep).listen(0, '127.0.0.1'), 'listening')
  ports = { endless: (endless.address() as AddressInfo).port, slow: (slow.address() as AddressInfo).port }
})

afterAll(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of [endless, slow]) server.close()
})

async function answerSum(socket: Socket): Promise<void> {
  const sum = createHash('sha256')
  for await (const chunk of socket) {
    sum.update(chunk as Buffer)
    await sleep(1)
  }
  socket.end(sum.digest('hex'))
}

function* forever(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(10_000, 'more ')
}

/** A connection to the server, of a guest that takes so many bytes. */
async function dial(
  credit: number,
  budgets: Budgets = {},
  port = ports.endless,
): Promise<{ peer: ScriptedPeer; entries: RecordEntry[] }> {
  const allow = [{ name: 'allowed.example', ports: [port], addresses: ['127.0.0.0/8'] }]
  const { peer, gateway, entries } = await scriptedGateway({ allow, budgets })
  const { address } = gateway.lookup('allowed.example')
  peer.say('Dial', { address, port, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
  peer.say('Credit', { bytes: credit }, FIRST_GUEST_CHANNEL)
  return { peer, entries }
}

it('ends on both sides when a program that has said its end breaks off, whatever the server still says', async () => {
  const { peer, entries } = await dial(100_000)
  let heard = (await peer.next()).payload.length
  peer.say('Eof', {}, FIRST_GUEST_CHANNEL)
  while (heard < 100_000) heard += (await peer.next()).payload.length
  peer.say('Close', {}, FIRST_GUEST_CHANNEL)
  await vi.waitFor(() => expect(entries).toMatchObject([{ kind: 'connection', failure: expect.any(String) }]))
  await vi.waitFor(() => expect(sockets.at(-1)?.destroyed).toBe(true))
  expect(peer.link.violation).toBeNull()
})

it('holds little of what a program does not take', async () => {
  const { peer } = await dial(100_000)
  for (let heard = 0; heard < 100_000;) heard += (await peer.next()).payload.length
  const said = (): number => sockets.at(-1)?.bytesWritten ?? 0
  // The rest is in the kernel: the server finds no room any more.
  await vi.waitFor(async () => {
    const before = said()
    await sleep(200)
    expect(said()).toBe(before)
  }, 10_000)
  expect(peer.link.sink.pendingBytes).toBe(0)
  peer.say('Credit', { bytes: 100_000 }, FIRST_GUEST_CHANNEL)
  for (let heard = 0; heard < 100_000;) heard += (await peer.next()).payload.length
})

it('gives a program no byte more than the budget for what it receives', async () => {
  const { peer, entries } = await dial(1_000_000, { receivedBytes: 100_001 })
  let heard = 0
  for (let frame = await peer.next(); frame.type !== MESSAGE_TYPES.Close; frame = await peer.next())
    heard += frame.payload.length
  expect(heard).toBeLessThanOrEqual(100_001)
  await vi.waitFor(() => expect(entries[0]).toMatchObject({ kind: 'refusal', refusal: 'budget_exhausted' }))
})

/** What a program says that stays within its credit, and all that it hears. */
async function say(peer: ScriptedPeer, bytes: number): Promise<{ sent: number; sum: string; heard: string }> {
  const sum = createHash('sha256')
  let credit: number = BOUNDS.channelWindowBytes
  let sent = 0
  // The first byte is that of no protocol that would be looked at.
  for (let next = Buffer.alloc(1); sent < bytes; next = randomBytes(1 + ((sent * 7919) % 70_000))) {
    while (credit < next.length) {
      const frame = await peer.next()
      expect(frame.type).toBe(MESSAGE_TYPES.Credit)
      credit += decode('Credit', frame.payload).bytes
    }
    sum.update(next)
    peer.say('Data', { bytes: next }, FIRST_GUEST_CHANNEL)
    sent += next.length
    credit -= next.length
  }
  peer.say('Eof', {}, FIRST_GUEST_CHANNEL)
  let heard = ''
  for (let frame = await peer.next(); frame.type !== MESSAGE_TYPES.Eof; frame = await peer.next())
    if (frame.type === MESSAGE_TYPES.Data) heard += frame.payload.toString()
  return { sent, sum: sum.digest('hex'), heard }
}

it('passes what programs say, however slowly it is read, lets them say as much again, and mixes nothing up', async () => {
  const both = [0, 1].map(async () => {
    const { peer, entries } = await dial(100_000, {}, ports.slow)
    const { sent, sum, heard } = await say(peer, 5_000_000)
    expect(heard).toBe(sum)
    peer.say('Close', {}, FIRST_GUEST_CHANNEL)
    await vi.waitFor(() =>
      expect(entries.filter(({ kind }) => kind !== 'opened')).toMatchObject([
        { kind: 'connection', sentBytes: sent, failure: null },
      ]),
    )
    expect(peer.link.violation).toBeNull()
  })
  await Promise.all(both)
})

it('resets a program whose server breaks off', async () => {
  const { peer, entries } = await dial(1000)
  await peer.next()
  sockets.at(-1)?.resetAndDestroy()
  for (let frame = await peer.next(); frame.type !== MESSAGE_TYPES.Close; frame = await peer.next()) continue
  await vi.waitFor(() => expect(entries).toMatchObject([{ kind: 'connection', failure: expect.any(String) }]))
})
