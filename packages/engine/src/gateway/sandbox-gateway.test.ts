import { once } from 'node:events'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { BOUNDS, type Policy, type RecordEntry } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { FIRST_GUEST_CHANNEL } from '../link/guest-channels.ts'
import { decode } from '../link/dispatch.ts'
import { MESSAGE_TYPES, type Messages } from '../link/messages.gen.ts'
import { frameOf, ScriptedPeer } from '../link/scripted-peer.ts'
import { CompiledPolicy } from './policy/compiled-policy.ts'
import { OTHER_PORTS } from './policy/known-ports.ts'
import { scriptedGateway } from './scripted-gateway.fixture.ts'

const FIRST_ADDRESS = 0x7f40_0000
const LAST_ADDRESS = 0x7f7f_ffff
const LOOPBACK = { addresses: ['127.0.0.0/8'] }

let echo: Server
/** Takes nothing of what it is sent. */
let deaf: Server
let ports = { echo: 0, deaf: 0 }
const sockets = new Set<Socket>()

beforeAll(async () => {
  const keep = (socket: Socket): void => void sockets.add(socket.on('error', () => undefined))
  echo = createServer({ allowHalfOpen: true }, (socket) => void socket.pipe(socket)).listen(0, '127.0.0.1')
  deaf = createServer((socket) => void socket.pause()).listen(0, '127.0.0.1')
  for (const server of [echo, deaf]) server.on('connection', keep)
  await Promise.all([once(echo, 'listening'), once(deaf, 'listening')])
  ports = { echo: (echo.address() as AddressInfo).port, deaf: (deaf.address() as AddressInfo).port }
})

afterAll(() => {
  for (const socket of sockets) socket.destroy()
  echo.close()
  deaf.close()
})

async function lookup(peer: ScriptedPeer, name: string, channel = FIRST_GUEST_CHANNEL): Promise<Messages['Address']> {
  peer.say('Lookup', { name, scope: 0 }, channel)
  const frame = await peer.next()
  expect(frame).toMatchObject({ type: MESSAGE_TYPES.Address, channel })
  return decode('Address', frame.payload)
}

function allow(): Policy {
  return { allow: [{ name: 'allowed.example', ports: [ports.echo, ports.deaf], ...LOOPBACK }] }
}

async function violation(peer: ScriptedPeer): Promise<string | null> {
  await peer.link.ended
  return peer.link.violation
}

describe('names', () => {
  test('an allowed one has an address that stays; others have none, and that is recorded', async () => {
    const { peer, entries, gateway } = await scriptedGateway(allow())
    const first = await lookup(peer, 'allowed.example')
    expect(first.address).toBeGreaterThan(FIRST_ADDRESS)
    expect(first.address).toBeLessThan(LAST_ADDRESS)
    expect([...new Uint16Array(Uint8Array.from(first.ports).buffer)]).toEqual([ports.echo, ports.deaf])
    expect(await lookup(peer, 'ALLOWED.example.')).toEqual(first)
    expect((await lookup(peer, 'other.example')).address).toBe(0)
    expect((await lookup(peer, '127.0.0.1')).address).toBe(0)
    expect(entries).toMatchObject([{ refusal: 'name_not_allowed' }, { refusal: 'malformed' }])
    gateway.setPolicy(new CompiledPolicy({}))
    expect((await lookup(peer, 'allowed.example')).address).toBe(0)
    expect((await scriptedGateway(allow())).gateway.lookup('allowed.example').address).toBe(first.address)
  })

  test('only so many have an address', async () => {
    const { gateway, entries } = await scriptedGateway({ allow: ['*.example'] })
    const addresses = Array.from({ length: BOUNDS.gatewayNames }, (_, at) => gateway.lookup(`n${at}.example`).address)
    expect(new Set(addresses).size).toBe(BOUNDS.gatewayNames)
    expect(addresses).not.toContain(0)
    expect(gateway.lookup('one-more.example').address).toBe(0)
    expect(entries).toMatchObject([{ refusal: 'budget_exhausted' }])
    expect(gateway.lookup('n7.example').address).toBe(addresses[7])
  })
})

describe('a hostile guest', () => {
  test('that asks without having been told ends its sandbox', async () => {
    for (const message of ['Lookup', 'Dial'] as const) {
      const peer = await ScriptedPeer.greeted()
      if (message === 'Lookup') peer.say('Lookup', { name: 'a.example', scope: 0 }, FIRST_GUEST_CHANNEL)
      else peer.say('Dial', { address: FIRST_ADDRESS + 1, port: 80, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
      expect(await violation(peer)).toContain('was not told')
    }
  })

  test('that asks on and on and takes no answer, too', async () => {
    const many = Array.from({ length: 64 }, (_, index) => 1000 + index)
    const rules = [0, 1, 2, 3].map((part) => ({ name: 'allowed.example', ports: many.map((port) => port + part * 64) }))
    const { peer } = await scriptedGateway({ allow: rules })
    peer.link.pause()
    const asked = Buffer.concat(
      Array.from({ length: 1000 }, () => frameOf('Lookup', { name: 'allowed.example', scope: 0 }, FIRST_GUEST_CHANNEL)),
    )
    while (peer.link.violation === null) {
      peer.raw(asked)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(peer.link.violation).toContain('does not read')
  })

  test('narrows so many commands at a time, and never the machine', async () => {
    for (const process of [0, 1]) {
      const { peer } = await scriptedGateway(allow())
      const count = process === 0 ? 1 : BOUNDS.narrowedCommands + 1
      for (let at = 0; at < count; at++)
        peer.say('Narrowed', { process: process === 0 ? 0 : at + 1, policy: '{}' }, FIRST_GUEST_CHANNEL + at)
      expect(await violation(peer)).toContain('narrowed')
    }
  })

  test('finds nothing for a command that nobody has spoken of, or whose policy cannot be read', async () => {
    const { peer } = await scriptedGateway(allow())
    peer.say('Narrowed', { process: 7, policy: '{"allow": 3' }, FIRST_GUEST_CHANNEL + 1)
    for (const scope of [7, 8]) {
      peer.say('Lookup', { name: 'allowed.example', scope }, FIRST_GUEST_CHANNEL + 2)
      expect(decode('Address', (await peer.next()).payload)).toMatchObject({ address: 0 })
    }
  })

  test('reaches nothing that no name has led to, and no other port', async () => {
    const { peer, entries } = await scriptedGateway(allow())
    const { address } = await lookup(peer, 'allowed.example')
    const dials = [
      { address: address + 1, port: ports.echo },
      { address: 0x7f00_0001, port: ports.echo },
      { address, port: 22 },
    ]
    for (const [index, dialed] of dials.entries()) {
      const channel = FIRST_GUEST_CHANNEL + 5 + index
      peer.say('Dial', { ...dialed, process: 1, scope: 0 }, channel)
      peer.say('Data', { bytes: Buffer.from('sent before it heard of the end') }, channel)
      expect(await peer.next()).toMatchObject({ type: MESSAGE_TYPES.Close, channel })
    }
    expect(entries).toMatchObject([{ refusal: 'port_not_allowed', process: 1 }])
    await peer.link.close()
    expect(peer.link.violation).toBeNull()
  })

  test('has so many connections at a time', async () => {
    const peer = await ScriptedPeer.greeted()
    const opened: unknown[] = []
    peer.link.serve({
      lookup: () => ({ address: 0, ports: new Uint8Array(0) }),
      dial: (_, open) => opened.push(open({ ended: () => undefined })),
      narrow: () => undefined,
      forget: () => undefined,
    })
    const dialed = { address: FIRST_ADDRESS + 1, port: 80, process: 0, scope: 0 }
    for (let at = 0; at <= BOUNDS.gatewayConnections; at++) peer.say('Dial', dialed, FIRST_GUEST_CHANNEL + at)
    const refused = FIRST_GUEST_CHANNEL + BOUNDS.gatewayConnections
    expect(await peer.next()).toMatchObject({ type: MESSAGE_TYPES.Close, channel: refused })
    expect(opened.length).toBe(BOUNDS.gatewayConnections)
    // A number that is in use is none for another.
    peer.say('Dial', dialed, FIRST_GUEST_CHANNEL)
    expect(await violation(peer)).toContain('not an answer')
  })

  test.each([
    ['sends more than it may', (peer: ScriptedPeer) => flood(peer), 'credit'],
    ['goes on after its end', (peer: ScriptedPeer) => afterEnd(peer), 'after the end'],
    ['speaks of nothing', (peer: ScriptedPeer) => peer.say('Eof', {}, FIRST_GUEST_CHANNEL + 99), 'not open'],
  ])('that %s ends its sandbox', async (_, misbehave, complaint) => {
    const { peer, gateway } = await scriptedGateway(allow())
    const { address } = gateway.lookup('allowed.example')
    peer.say('Dial', { address, port: ports.deaf, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
    misbehave(peer)
    expect(await violation(peer)).toContain(complaint)
  })
})

function flood(peer: ScriptedPeer): void {
  const bytes = Buffer.alloc(BOUNDS.frameBytes, 1)
  for (let sent = 0; sent < 16 * BOUNDS.channelWindowBytes; sent += bytes.length)
    peer.say('Data', { bytes }, FIRST_GUEST_CHANNEL)
}

function afterEnd(peer: ScriptedPeer): void {
  peer.say('Eof', {}, FIRST_GUEST_CHANNEL)
  peer.say('Data', { bytes: Buffer.from('more') }, FIRST_GUEST_CHANNEL)
}

describe('connections', () => {
  /** Says this on a new connection, piece by piece, and gives what comes back up to its end. */
  async function talk(
    policy: Policy,
    ...pieces: readonly string[]
  ): Promise<{ heard: string; entries: RecordEntry[] }> {
    const { peer, gateway, entries } = await scriptedGateway(policy)
    const { address } = gateway.lookup('allowed.example')
    peer.say('Dial', { address, port: ports.echo, process: 3, scope: 0 }, FIRST_GUEST_CHANNEL)
    peer.say('Credit', { bytes: 100_000 }, FIRST_GUEST_CHANNEL)
    for (const piece of pieces) {
      peer.say('Data', { bytes: Buffer.from(piece) }, FIRST_GUEST_CHANNEL)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    peer.say('Eof', {}, FIRST_GUEST_CHANNEL)
    let heard = ''
    for (;;) {
      const frame = await peer.next()
      if (frame.type === MESSAGE_TYPES.Data) heard += frame.payload.toString()
      if (frame.type === MESSAGE_TYPES.Close) heard += ' (closed)'
      if (frame.type === MESSAGE_TYPES.Eof) peer.say('Close', {}, FIRST_GUEST_CHANNEL)
      if (frame.type === MESSAGE_TYPES.Close || frame.type === MESSAGE_TYPES.Eof) break
    }
    await vi.waitFor(() => expect(entries.some((entry) => entry.kind === 'connection')).toBe(true))
    return { heard, entries }
  }

  test('pass any bytes, and are recorded', async () => {
    const { heard, entries } = await talk(allow(), 'SET key', ' value\r\n')
    expect(heard).toBe('SET key value\r\n')
    expect(entries).toMatchObject([
      { kind: 'connection', process: 3, protocol: 'tcp', sentBytes: 15, receivedBytes: 15 },
    ])
  })

  test('that only an audit lets pass are marked', async () => {
    const { peer, gateway, entries } = await scriptedGateway({ mode: 'audit', deny: ['denied.example'] })
    expect(gateway.lookup('denied.example').address).toBe(0)
    const { address, ports: offered } = gateway.lookup('allowed.example')
    expect([...new Uint16Array(Uint8Array.from(offered).buffer)]).toEqual([443, 80, ...OTHER_PORTS])
    // What is not public is not reached in an audit either.
    peer.say('Dial', { address, port: 443, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL)
    expect((await peer.next()).type).toBe(MESSAGE_TYPES.Close)
    await vi.waitFor(() => expect(entries.length).toBe(3))
    expect(entries).toMatchObject([
      { refusal: 'denied' },
      { refusal: 'address_not_public' },
      { kind: 'connection', named: false },
    ])
  })

  test('that become a request only bit by bit are ended before their name is heard', async () => {
    const { heard, entries } = await talk(allow(), 'BREW', ' / HTTP/1.1\r\n', 'Host: other.example\r\n\r\n')
    expect(heard).not.toContain('other.example')
    expect(entries).toContainEqual(expect.objectContaining({ kind: 'refusal', refusal: 'malformed' }))
  })

  test('are refused when they speak something else than a rule needs', async () => {
    const policy = { allow: [{ name: 'allowed.example', ports: [ports.echo], methods: ['GET' as const], ...LOOPBACK }] }
    const { heard, entries } = await talk(policy, '\0\0\0\x08')
    expect(heard).toBe(' (closed)')
    expect(entries[0]).toMatchObject({ kind: 'refusal', refusal: 'protocol_not_allowed' })
  })

  test('end when the address that was dialed is not allowed any more, and not before', async () => {
    const { peer, gateway, entries } = await scriptedGateway(allow())
    const { address } = gateway.lookup('allowed.example')
    peer.say('Dial', { address, port: ports.echo, process: 3, scope: 0 }, FIRST_GUEST_CHANNEL)
    peer.say('Credit', { bytes: 100_000 }, FIRST_GUEST_CHANNEL)
    peer.say('Data', { bytes: Buffer.from('\0one') }, FIRST_GUEST_CHANNEL)
    expect((await peer.next()).payload.toString()).toBe('\0one')
    const rule = { name: 'allowed.example', ports: [ports.echo] }
    gateway.setPolicy(new CompiledPolicy({ allow: [{ ...rule, addresses: ['127.0.0.0/16', '10.0.0.0/8'] }] }))
    peer.say('Data', { bytes: Buffer.from('two') }, FIRST_GUEST_CHANNEL)
    expect((await peer.next()).payload.toString()).toBe('two')
    gateway.setPolicy(new CompiledPolicy({ allow: [{ ...rule, addresses: ['10.0.0.0/8'] }] }))
    expect((await peer.next()).type).toBe(MESSAGE_TYPES.Close)
    await vi.waitFor(() => expect(entries.length).toBe(2))
    expect(entries).toMatchObject([
      { kind: 'refusal', refusal: 'address_not_public', port: ports.echo },
      { kind: 'connection', sentBytes: 7, receivedBytes: 7 },
    ])
  })

  test('stay within the budgets, to the byte', async () => {
    const { heard, entries } = await talk({ ...allow(), budgets: { sentBytes: 10 } }, '\0'.repeat(10), 'more')
    expect(heard.length).toBeLessThanOrEqual(10 + ' (closed)'.length)
    expect(entries[0]).toMatchObject({ kind: 'refusal', refusal: 'budget_exhausted' })
    const {
      gateway,
      peer,
      entries: refused,
    } = await scriptedGateway({ ...allow(), budgets: { concurrent: 1, connections: 2 } })
    const { address } = gateway.lookup('allowed.example')
    for (const channel of [0, 1])
      peer.say('Dial', { address, port: ports.echo, process: 0, scope: 0 }, FIRST_GUEST_CHANNEL + channel)
    expect(await peer.next()).toMatchObject({ type: MESSAGE_TYPES.Close, channel: FIRST_GUEST_CHANNEL + 1 })
    expect(refused).toMatchObject([{ refusal: 'budget_exhausted' }])
  })
})
