import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DECODERS, MESSAGE_TYPES, PROTOCOL_VERSION } from '../../packages/engine/src/link/messages.gen.ts'
import { PayloadReader } from '../../packages/engine/src/link/wire.ts'
import { SPAWN } from './guest-process.ts'
import { frame, TestKeeper, type Connection } from './keeper-harness.ts'

const LANE = 16
const ADDRESS = 0x7f40_0107
const PORT = 8123
const GUEST = process.env['HEARTH_GUEST'] ?? fileURLToPath(new URL('../build/hearth-guest-sanitized', import.meta.url))
// SAFETY: the guest writes to /etc, so that it gets one of its own, and a network too.
const ALONE = ['--mount', '--net', '--pid', '--fork', '--mount-proc', '/bin/sh', '-c']

/** Connects again and again to what a lookup has made known, says a word and what it hears until the end. */
const PROGRAM = `
import socket, sys
def once(say):
    s = socket.create_connection(('127.64.1.7', ${PORT}), 5)
    s.sendall(say)
    try: heard = s.makefile('rb').read().decode()
    except ConnectionResetError: heard = 'reset'
    print(heard, flush=True)
socket.getaddrinfo('allowed.example', ${PORT})
print('known', flush=True)
for line in sys.stdin: once(line.strip().encode())
`

let keeper: TestKeeper
let link: Connection

beforeAll(() => {
  execFileSync('make', ['-s', '-C', fileURLToPath(new URL('..', import.meta.url)), 'sanitized'], { stdio: 'inherit' })
}, 180_000)

/** The next frame of that message; others that come before it are passed over. */
async function next(connection: Connection, name: 'Welcome' | 'Done' | 'Lookup' | 'Output' | 'Pong' | 'Frozen') {
  for (;;) {
    const got = await connection.next()
    if (got.type === MESSAGE_TYPES[name]) return got
  }
}

/** What the program has printed. */
async function printed(): Promise<string> {
  const { payload } = await next(link, 'Output')
  return Buffer.from(DECODERS.Output(new PayloadReader(payload)).bytes)
    .toString()
    .trim()
}

function say(line: string): void {
  link.send(frame('Data', 2, { bytes: Buffer.from(`${line}\n`) }))
}

async function greet(): Promise<void> {
  link.send(frame('Hello', 0, { version: PROTOCOL_VERSION, nonce: Buffer.from('nonce') }))
  await next(link, 'Welcome')
  link.send(frame('Network', 1, { authority: '' }))
  await next(link, 'Done')
}

/** A lane on which the program has said this: one that the guest has. */
async function laneWith(word: string): Promise<{ lane: Connection; channel: number }> {
  const lane = await keeper.connect('lane.sock')
  // Through the keeper, which takes what is there of the lane in the same round or before.
  await new Promise((resolve) => setTimeout(resolve, 100))
  say(word)
  const dial = await lane.next()
  expect(dial.type).toBe(MESSAGE_TYPES.Dial)
  expect(DECODERS.Dial(new PayloadReader(dial.payload))).toMatchObject({ address: ADDRESS, port: PORT, scope: 0 })
  expect((await lane.next()).type).toBe(MESSAGE_TYPES.Credit)
  expect((await lane.next()).payload.toString()).toBe(word)
  return { lane, channel: dial.channel }
}

async function pinged(): Promise<void> {
  link.send(frame('Ping', 0, { token: 7n }))
  await next(link, 'Pong')
}

beforeEach(async () => {
  keeper = new TestKeeper()
  link = keeper.connection
  const alone = ['/usr/bin/unshare', ...ALONE, 'mount -t tmpfs none /etc && exec "$0"', GUEST]
  await keeper.launch({ argv: alone, flags: LANE })
  await greet()
  link.send(frame('Spawn', 2, { ...SPAWN, flags: 4, argv: ['/usr/bin/python3', '-c', PROGRAM] }))
  const { channel } = await next(link, 'Lookup')
  link.send(frame('Address', channel, { address: ADDRESS, ports: new Uint8Array(new Uint16Array([PORT]).buffer) }))
  if ((await printed()) !== 'known') throw new Error('the name is not known')
})

afterEach(async () => {
  await keeper[Symbol.asyncDispose]()
})

describe('a guest with a lane', () => {
  it('carries connections there, both ways with their ends, one after the other', async () => {
    const { lane, channel } = await laneWith('first')
    for (const [word, number] of [
      ['first', channel],
      ['second', channel + 1],
    ] as const) {
      lane.send(frame('Data', number, { bytes: Buffer.from(`heard ${word}`) }), frame('Eof', number, {}))
      expect(await printed()).toBe(`heard ${word}`)
      expect((await lane.next()).type).toBe(MESSAGE_TYPES.Eof)
      expect((await lane.next()).type).toBe(MESSAGE_TYPES.Close)
      if (word === 'second') break
      say('second')
      for (const type of ['Dial', 'Credit', 'Data'] as const) {
        const got = await lane.next()
        expect([got.type, got.channel]).toEqual([MESSAGE_TYPES[type], channel + 1])
      }
    }
  })

  it('resets connections whose lane ends, closes them on Close, and goes on over the link', async () => {
    const { lane, channel } = await laneWith('closed')
    lane.send(frame('Close', channel, {}))
    expect(await printed()).toBe('reset')
    say('cut')
    expect((await lane.next()).type).toBe(MESSAGE_TYPES.Dial)
    lane.socket.destroy()
    expect(await printed()).toBe('reset')
    say('without')
    for (let dialed = false; !dialed;) dialed = (await link.next()).type === MESSAGE_TYPES.Dial
  })

  it.each([
    ['what is no frame', () => Buffer.alloc(64, 0xff)],
    ['a request', () => frame('Stat', 77, { path: '/', flags: 0 })],
    ['a new session', () => frame('Hello', 0, { version: PROTOCOL_VERSION, nonce: Buffer.from('x') })],
    ['bytes for a channel of the link', () => frame('Data', 2, { bytes: Buffer.from('from the lane\n') })],
  ])('ends a lane that says %s, and nothing else', async (_, said) => {
    const { lane } = await laneWith('word')
    lane.send(said())
    await lane.end()
    expect(await printed()).toMatch(/reset$/)
    await pinged()
  })

  it('says nothing on it while it is frozen', async () => {
    const { lane, channel } = await laneWith('before')
    link.send(frame('Freeze', 0, { flags: 0 }))
    await next(link, 'Frozen')
    // The program ends its connection meanwhile.
    lane.send(frame('Data', channel, { bytes: Buffer.from('bytes') }), frame('Eof', channel, {}))
    const heard = lane.next()
    const silence = new Promise((resolve) => setTimeout(resolve, 300, 'silence'))
    expect(await Promise.race([heard, silence])).toBe('silence')
    link.send(frame('Thaw', 0, {}))
    expect((await heard).type).toBe(MESSAGE_TYPES.Eof)
    expect((await lane.next()).type).toBe(MESSAGE_TYPES.Close)
  })

  it('lets go of it at the next session, whose lane is another', async () => {
    const { lane } = await laneWith('of the first')
    await greet()
    await lane.end()
    link.send(frame('Attach', 2, { process: 1, offset: 0n }))
    let text = ''
    while (!text.includes('reset')) text += await printed()
    link.send(frame('Stdin', 3, { process: 1 }))
    const other = await keeper.connect('lane.sock')
    await new Promise((resolve) => setTimeout(resolve, 100))
    link.send(frame('Data', 3, { bytes: Buffer.from('of the second\n') }))
    expect((await other.next()).type).toBe(MESSAGE_TYPES.Dial)
  })
})
