import { BOUNDS, HearthError, type ErrorCode } from '@hearth/contract'
import { describe, expect, test } from 'vitest'
import { scriptedMachine } from '../machine/scripted-machine.ts'
import { MESSAGE_TYPES, PROTOCOL_VERSION } from './messages.gen.ts'
import { ScriptedPeer } from './scripted-peer.ts'

/** Waits for a failure and gives its code. */
async function codeOf(promise: Promise<unknown>): Promise<ErrorCode> {
  const error: unknown = await promise.then(
    () => new Error('it succeeded'),
    (failure: unknown) => failure,
  )
  if (!HearthError.isInstance(error)) throw error
  return error.code
}

describe('hello', () => {
  test('a Welcome with the nonce begins the session, whatever came before it', async () => {
    const peer = new ScriptedPeer()
    const welcome = peer.link.hello({ timeoutMs: 1000 })
    peer.say('Done', { value: 1n }, 77)
    peer.say(
      'Welcome',
      { version: 9, nonce: Buffer.from('of another session'), bootNanoseconds: 0n, uid: 0, features: 0 },
      0,
    )
    await peer.welcome()
    expect((await welcome).bootNanoseconds).toBe(1n)
  })

  test('a guest with another version is refused', async () => {
    const peer = new ScriptedPeer()
    const welcome = codeOf(peer.link.hello({ timeoutMs: 1000 }))
    await peer.welcome(PROTOCOL_VERSION + 1)
    expect(await welcome).toBe('protocol_violation')
    expect(peer.link.violation).toContain(`version ${PROTOCOL_VERSION + 1}`)
  })

  test('only wrong nonces: the time runs out', async () => {
    const peer = new ScriptedPeer()
    const welcome = codeOf(peer.link.hello({ timeoutMs: 50 }))
    peer.say(
      'Welcome',
      { version: PROTOCOL_VERSION, nonce: Buffer.alloc(16), bootNanoseconds: 0n, uid: 0, features: 0 },
      0,
    )
    expect(await welcome).toBe('timeout')
  })

  test('no answer, an abort and an end are told apart', async () => {
    expect(await codeOf(new ScriptedPeer().link.hello({ timeoutMs: 20 }))).toBe('timeout')
    expect(await codeOf(new ScriptedPeer().link.hello({ signal: AbortSignal.timeout(20) }))).toBe('aborted')
    const peer = new ScriptedPeer()
    const welcome = codeOf(peer.link.hello())
    peer.hangUp()
    expect(await welcome).toBe('link_lost')
    expect(await codeOf(peer.link.hello())).toBe('link_lost')
  })

  test('a flood before the Welcome does not outlast the time limit', async () => {
    const peer = new ScriptedPeer()
    const frame = Buffer.alloc(12 + BOUNDS.frameBytes)
    frame.writeUInt32LE(BOUNDS.frameBytes, 0)
    frame[4] = MESSAGE_TYPES.Data
    const welcome = codeOf(peer.link.hello({ timeoutMs: 200 }))
    const flood = setInterval(() => peer.raw(frame), 0)
    expect(await welcome).toBe('timeout')
    clearInterval(flood)
  })

  test('garbage before the Welcome is a violation', async () => {
    const peer = new ScriptedPeer()
    const welcome = codeOf(peer.link.hello({ timeoutMs: 1000 }))
    peer.raw(Buffer.alloc(64, 0xff))
    expect(await welcome).toBe('protocol_violation')
    expect((await peer.link.ended).kind).toBe('violation')
  })

  test('a new session ends the calls of the one before', async () => {
    const peer = await ScriptedPeer.greeted()
    const call = codeOf(peer.link.request('Remove', { path: '/a', flags: 0 }))
    await peer.expect('Remove')
    const again = peer.link.hello({ timeoutMs: 1000 })
    expect(await call).toBe('link_lost')
    await peer.welcome()
    await again
  })
})

describe('requests', () => {
  test('an answer, a failure and silence', async () => {
    const peer = await ScriptedPeer.greeted()
    const first = peer.link.request('Remove', { path: '/a', flags: 0 })
    peer.say('Done', { value: 5n }, await peer.expect('Remove'))
    expect((await first).value).toBe(5n)
    const second = peer.link.request('Remove', { path: '/a', flags: 0 })
    peer.say('Failed', { errno: 2, what: `/a\u001b[2J${'x'.repeat(100_000)}` }, await peer.expect('Remove'))
    const error: unknown = await second.catch((failure: unknown) => failure)
    expect(error).toMatchObject({ code: 'file_not_found' })
    expect((error as Error).message).not.toContain('\u001b')
    expect((error as Error).message.length).toBeLessThan(5000)
    const third = codeOf(peer.link.request('Remove', { path: '/a', flags: 0 }, { timeoutMs: 20 }))
    const channel = await peer.expect('Remove')
    expect(await third).toBe('timeout')
    expect(await peer.expect('Close')).toBe(channel)
    peer.say('Done', { value: 0n }, channel)
    expect(await pinged(peer)).toBeGreaterThanOrEqual(0)
  })

  test('an abort closes the channel, whose late answer is ignored', async () => {
    const peer = await ScriptedPeer.greeted()
    const controller = new AbortController()
    const call = codeOf(peer.link.request('Remove', { path: '/a', flags: 0 }, { signal: controller.signal }))
    const channel = await peer.expect('Remove')
    controller.abort()
    expect(await call).toBe('aborted')
    expect(await peer.expect('Close')).toBe(channel)
    peer.say('Done', { value: 0n }, channel)
    expect(await pinged(peer)).toBeGreaterThanOrEqual(0)
    expect(await codeOf(peer.link.request('Remove', { path: '/a', flags: 0 }, { signal: controller.signal }))).toBe(
      'aborted',
    )
  })

  test('the end of the stream ends every call', async () => {
    const peer = await ScriptedPeer.greeted()
    const calls = [
      codeOf(peer.link.request('Remove', { path: '/a', flags: 0 })),
      codeOf(peer.link.ping()),
      codeOf(peer.link.request('Statistics', {})),
    ]
    await peer.next()
    peer.hangUp()
    expect(await Promise.all(calls)).toEqual(['link_lost', 'link_lost', 'link_lost'])
    expect(await peer.link.ended).toMatchObject({ kind: 'lost' })
    expect(() => peer.link.open('Connect', { port: 1 }, { ended: () => {} })).toThrow(HearthError)
  })

  test('more calls than channels are refused, and those under way are not harmed', async () => {
    const peer = await ScriptedPeer.greeted()
    const first = peer.link.request('Remove', { path: '/a', flags: 0 })
    const others = Array.from({ length: BOUNDS.channels }, () => codeOf(peer.link.request('Statistics', {})))
    expect(await others.at(-1)).toBe('too_many')
    peer.say('Done', { value: 0n }, await peer.expect('Remove'))
    await first
    peer.link.destroy()
    await Promise.all(others)
  })

  test('a request that does not fit a frame is refused before anything is sent', async () => {
    const peer = await ScriptedPeer.greeted()
    expect(await codeOf(peer.link.request('Rename', { path: '/a', to: `/${'x'.repeat(200_000)}` }))).toBe(
      'invalid_request',
    )
    expect(await pinged(peer)).toBeGreaterThanOrEqual(0)
  })

  test('a ping that is not answered times out, and its late Pong is no violation', async () => {
    const peer = await ScriptedPeer.greeted()
    expect(await codeOf(peer.link.ping(20))).toBe('timeout')
    await peer.expect('Ping')
    peer.say('Pong', { token: 1n }, 0)
    expect(await pinged(peer)).toBeGreaterThanOrEqual(0)
  })
})

async function pinged(peer: ScriptedPeer): Promise<number> {
  const ping = peer.link.ping(1000)
  const frame = await peer.next()
  peer.say('Pong', { token: frame.payload.readBigUInt64LE(0) }, frame.channel)
  return await ping
}

describe('a guest that breaks a rule is reported, and every call ends', () => {
  const lies: Record<string, (peer: ScriptedPeer, channel: number) => void> = {
    'an answer on a channel that was never opened': (peer) => peer.say('Done', { value: 0n }, 4000),
    'an answer on a channel of the guest': (peer) => peer.say('Done', { value: 0n }, 2 ** 31 + 5),
    'a second answer': (peer, channel) => {
      peer.say('Done', { value: 0n }, channel)
      peer.say('Done', { value: 0n }, channel)
    },
    'an answer that belongs to another request': (peer, channel) => peer.say('Connected', {}, channel),
    'a message that only a host may send': (peer, channel) => peer.say('Remove', { path: '/', flags: 1 }, channel),
    'a second Welcome': (peer) =>
      peer.say(
        'Welcome',
        { version: PROTOCOL_VERSION, nonce: Buffer.alloc(16), bootNanoseconds: 0n, uid: 0, features: 0 },
        0,
      ),
    'an unknown type': (peer, channel) => peer.raw(Buffer.from([0, 0, 0, 0, 200, 0, 0, 0, channel, 0, 0, 0])),
    'a payload that is too short': (peer, channel) =>
      peer.raw(Buffer.from([1, 0, 0, 0, 8, 0, 0, 0, channel, 0, 0, 0, 1])),
    'a payload that is too long': (peer, channel) =>
      peer.raw(Buffer.concat([Buffer.from([9, 0, 0, 0, 8, 0, 0, 0, channel, 0, 0, 0]), Buffer.alloc(9)])),
    'a frame that is too long': (peer, channel) => peer.raw(Buffer.from([1, 0, 2, 0, 8, 0, 0, 0, channel, 0, 0, 0])),
    'reserved bytes': (peer, channel) => peer.raw(Buffer.from([8, 0, 0, 0, 8, 0, 1, 0, channel, 0, 0, 0])),
    'a Pong that nobody asked for': (peer) => peer.say('Pong', { token: 12n }, 0),
    'a string longer than its frame': (peer, channel) =>
      peer.raw(Buffer.from([8, 0, 0, 0, 9, 0, 0, 0, channel, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255])),
    'an absurd credit, again and again': (peer, channel) => {
      for (let count = 0; count < 300; count++) peer.say('Credit', { bytes: 2 ** 32 - 1 }, channel)
    },
  }

  test.each(Object.entries(lies))('%s', async (_what, lie) => {
    const peer = await ScriptedPeer.greeted()
    const { machine, kills } = scriptedMachine(peer)
    const call = peer.link.request('Remove', { path: '/a', flags: 0 }).catch((error: unknown) => error)
    const other = codeOf(machine.files.stat('/b'))
    const channel = await peer.expect('Remove')
    lie(peer, channel)
    expect(await machine.ended).toMatchObject({ reason: 'protocol_violation' })
    expect(kills()).toBe(1)
    expect(await other).toBe('protocol_violation')
    await call
    expect(await codeOf(machine.files.stat('/c'))).toBe('protocol_violation')
  })

  test('more on a closed channel than can have been under way', async () => {
    const peer = await ScriptedPeer.greeted()
    const channel = peer.link.open('Connect', { port: 1 }, { ended: () => {} })
    channel.close()
    for (let sent = 0; sent <= 4 * BOUNDS.channelWindowBytes; sent += 65_536)
      peer.say('Data', { bytes: Buffer.alloc(65_536) }, channel.number)
    expect(await peer.link.ended).toMatchObject({ kind: 'violation' })
  })
})
