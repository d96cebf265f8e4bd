import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BOUNDS, type HearthError } from '@hearth/contract'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Channel } from './channel.ts'
import { decode } from './dispatch.ts'
import { FrameDecoder } from './frame-decoder.ts'
import { FIRST_GUEST_CHANNEL } from './guest-channels.ts'
import { connectLink } from './link-socket.ts'
import { Link } from './link.ts'
import { MESSAGE_TYPES, PROTOCOL_VERSION, type MessageName, type Messages } from './messages.gen.ts'
import { frameOf, type Received } from './scripted-peer.ts'

const DIALED = { address: 0x7f40_0001, port: 443, process: 0, scope: 0 }
const NUMBER = FIRST_GUEST_CHANNEL + 9

let directory: string
let server: Server
let link: Link
/** The guest's end of the link. */
let peer: ReturnType<typeof duplexPair>[number]
let said: Received[]
let lanes: Socket[]
let dialed: { channel: Channel; heard: string[]; ended: HearthError[] }[]
/** There is no way to the guest. */
let none: boolean

function hears(into: Received[]): FrameDecoder {
  return new FrameDecoder((type, channel, payload) => into.push({ type, channel, payload: Buffer.from(payload) }))
}

function say<Name extends MessageName>(name: Name, message: Messages[Name], channel: number): void {
  peer.write(frameOf(name, message, channel))
}

async function greet(): Promise<void> {
  const welcomed = link.hello({ timeoutMs: 1000 })
  await vi.waitFor(() => expect(said.at(-1)?.type).toBe(MESSAGE_TYPES.Hello))
  const { nonce } = decode('Hello', said.pop()?.payload ?? Buffer.alloc(0))
  say('Welcome', { version: PROTOCOL_VERSION, nonce, bootNanoseconds: 1n, uid: 0, features: 0 }, 0)
  await welcomed
}

/** Looks up a name; the lane that is connected then. */
async function openLane(): Promise<Socket> {
  const before = lanes.length
  say('Lookup', { name: 'a.example', scope: 0 }, FIRST_GUEST_CHANNEL)
  await vi.waitFor(() => expect(lanes.length).toBe(before + 1))
  const lane = lanes.at(-1)
  if (lane === undefined) throw new Error('no lane')
  return lane
}

async function dial(lane: Socket, number = NUMBER): Promise<(typeof dialed)[number]> {
  const before = dialed.length
  lane.write(frameOf('Dial', DIALED, number))
  await vi.waitFor(() => expect(dialed.length).toBe(before + 1))
  const last = dialed.at(-1)
  if (last === undefined) throw new Error('nothing was dialed')
  return last
}

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'hearth-lane-'))
  ;[said, lanes, dialed, none] = [[], [], [], false]
  server = createServer((socket) => void lanes.push(socket.on('error', () => undefined)))
  server.listen(join(directory, 'lane.sock'))
  await once(server, 'listening')
  const [host, guest] = duplexPair()
  peer = guest
  const decoder = hears(said)
  guest.on('data', (chunk: Buffer) => decoder.push(chunk))
  const connect = async () => {
    if (none) return null
    const socket = connectLink(join(directory, 'lane.sock'))
    await once(socket, 'connect')
    return socket
  }
  link = new Link(host, () => null, connect)
  link.serve({
    lookup: () => ({ address: 0, ports: new Uint8Array(0) }),
    dial: (_, open) => {
      const heard: string[] = []
      const ended: HearthError[] = []
      const channel = open({
        Data: ({ bytes }) => void heard.push(Buffer.from(bytes).toString()),
        Eof: () => void heard.push('(end)'),
        ended: (error) => void ended.push(error),
      })
      dialed.push({ channel, heard, ended })
    },
    narrow: () => undefined,
    forget: () => undefined,
  })
  await greet()
})

afterEach(() => {
  link.destroy()
  for (const lane of lanes) lane.destroy()
  server.close()
  rmSync(directory, { recursive: true })
})

describe('a lane', () => {
  test('carries what is dialed on it, both ways, and nothing of it is on the link', async () => {
    const lane = await openLane()
    const answers: Received[] = []
    const decoder = hears(answers)
    lane.on('data', (chunk: Buffer) => decoder.push(chunk))
    const { channel, heard } = await dial(lane)
    said.length = 0
    lane.write(
      Buffer.concat([
        frameOf('Credit', { bytes: 100 }, NUMBER),
        frameOf('Data', { bytes: Buffer.from('hello') }, NUMBER),
      ]),
    )
    lane.write(frameOf('Eof', {}, NUMBER))
    await vi.waitFor(() => expect(heard).toEqual(['hello', '(end)']))
    expect(channel.trySend(Buffer.from('answer'))).toBe(6)
    channel.sendEof()
    channel.close()
    await vi.waitFor(() => expect(answers.length).toBe(3))
    expect(answers.map(({ type, channel: number }) => [type, number])).toEqual(
      (['Data', 'Eof', 'Close'] as const).map((name) => [MESSAGE_TYPES[name], NUMBER]),
    )
    expect(said).toEqual([])
    // What was under way when it was closed.
    lane.write(frameOf('Data', { bytes: Buffer.from('late') }, NUMBER))
    await dial(lane, NUMBER + 1)
  })

  test('is connected at the first lookup, once in a session, and not again when the guest ends it', async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(lanes.length).toBe(0)
    const lane = await openLane()
    const { ended } = await dial(lane)
    lane.destroy()
    await vi.waitFor(() => expect(ended).toMatchObject([{ code: 'link_lost' }]))
    say('Lookup', { name: 'b.example', scope: 0 }, FIRST_GUEST_CHANNEL)
    say('Dial', DIALED, NUMBER + 1)
    await vi.waitFor(() => expect(dialed.length).toBe(2))
    expect(lanes.length).toBe(1)
    await greet()
    const other = await openLane()
    expect((await dial(other)).ended).toEqual([])
    // Its end is that of the session.
    const gone = once(other, 'close')
    const again = greet()
    await gone
    await again
  })

  test('that cannot be had is none: the link carries connections', async () => {
    none = true
    say('Lookup', { name: 'a.example', scope: 0 }, FIRST_GUEST_CHANNEL)
    say('Dial', DIALED, NUMBER)
    await vi.waitFor(() => expect(dialed.length).toBe(1))
    expect(lanes.length).toBe(0)
  })

  test('ends with its link, whatever it was about', async () => {
    const lane = await openLane()
    const { ended } = await dial(lane)
    const gone = once(lane, 'close')
    link.destroy()
    await gone
    expect(ended).toMatchObject([{ code: 'link_lost' }])
  })

  test('counts with the link for the connections at one time', async () => {
    const lane = await openLane()
    const answers: Received[] = []
    const decoder = hears(answers)
    lane.on('data', (chunk: Buffer) => decoder.push(chunk))
    for (let at = 1; at < BOUNDS.gatewayConnections; at++) say('Dial', DIALED, NUMBER + at)
    await vi.waitFor(() => expect(dialed.length).toBe(BOUNDS.gatewayConnections - 1))
    await dial(lane, NUMBER)
    lane.write(frameOf('Dial', DIALED, NUMBER + BOUNDS.gatewayConnections))
    await vi.waitFor(() => expect(answers).toMatchObject([{ type: MESSAGE_TYPES.Close }]))
    expect(dialed.length).toBe(BOUNDS.gatewayConnections)
  })

  test.each<[string, () => Uint8Array, string]>([
    ['what is no frame', () => Buffer.alloc(64, 0xff), 'longer than'],
    ['a lookup', () => frameOf('Lookup', { name: 'a.example', scope: 0 }, NUMBER + 1), 'not open'],
    ['a narrowed command', () => frameOf('Narrowed', { process: 3, policy: '{}' }, NUMBER + 1), 'not open'],
    ['what belongs to a channel of the host', () => frameOf('Data', { bytes: Buffer.from('x') }, 1), 'of the host'],
    ['an answer to nothing', () => frameOf('Pong', { token: 1n }, 0), 'of the host'],
    ['more than its credit', () => flood(), 'credit'],
    ['what belongs to a connection of the link', () => frameOf('Eof', {}, NUMBER + 50), 'beside'],
  ])('on which the guest says %s ends its sandbox', async (_, bytes, complaint) => {
    const lane = await openLane()
    await dial(lane)
    say('Dial', DIALED, NUMBER + 50)
    await vi.waitFor(() => expect(dialed.length).toBe(2))
    lane.write(bytes())
    await link.ended
    expect(link.violation).toContain(complaint)
    expect(dialed.map(({ ended }) => ended.length)).toEqual([1, 1])
  })

  test('is no other way for the link: what belongs to its connections is not said there', async () => {
    const lane = await openLane()
    await dial(lane)
    say('Eof', {}, NUMBER)
    await link.ended
    expect(link.violation).toContain('beside')
  })
})

function flood(): Uint8Array {
  const bytes = Buffer.alloc(BOUNDS.frameBytes, 1)
  const frames = Array.from({ length: 3 }, () => frameOf('Data', { bytes }, NUMBER))
  return Buffer.concat(frames)
}
