import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { PayloadWriter } from '../../packages/engine/src/link/wire.ts'
import { present, SPAWN } from './guest-process.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()

function frame(type: number, channel: number, payload: Uint8Array): Buffer {
  const writer = new PayloadWriter()
  writer.rest(payload)
  return writer.finish(type, channel)
}

function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11]) + Number(fields[12])
}

describe('the session', () => {
  it('answers a ping with its token', async () => {
    fixture.guest.send('Ping', 0, { token: 42n })
    expect(await fixture.guest.control.expect('Pong')).toEqual({ token: 42n })
  })

  it('forgets the channels of the previous session and keeps its processes', async () => {
    const { guest } = fixture
    const old = guest.request('Spawn', { ...SPAWN, argv: ['sh', '-c', 'echo first; sleep 0.2; echo second'] })
    const { process } = await old.expect('Spawned')
    await guest.hello()
    const again = guest.request('Attach', { process, offset: 0n })
    const messages = await again.all()
    const text = messages
      .map((message) => (message.name === 'Output' ? Buffer.from(message.body.bytes).toString() : ''))
      .join('')
    expect(text).toBe('first\nsecond\n')
    expect(messages.at(-1)?.name).toBe('Exited')
  })

  it.each([
    ['an unknown type', frame(99, 5, Buffer.alloc(3))],
    ['a payload that is too short', frame(20, 5, Buffer.from([1, 0]))],
    ['a payload that is too long', frame(62, 5, Buffer.alloc(4))],
    ['a list that lies about its count', frame(20, 5, Buffer.from([0, 0, 0, 0, 255, 255, 255, 255]))],
    ['a request on channel 0', frame(62, 0, Buffer.alloc(0))],
    ['a request on a channel of the guest', frame(62, 0x80000001, Buffer.alloc(0))],
    ['an answer', frame(8, 5, Buffer.alloc(8))],
    ['a reserved byte', Buffer.from([0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0])],
    ['an oversize frame', Buffer.from([255, 255, 255, 255, 4, 0, 0, 0, 0, 0, 0, 0, ...Buffer.alloc(500, 7)])],
  ])('drops the session at %s and waits for Hello', async (_what, bytes) => {
    const { guest } = fixture
    guest.sendBytes(bytes)
    guest.send('Ping', 0, { token: 1n })
    await guest.hello()
    guest.send('Ping', 0, { token: 2n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 2n })
  })

  it('drops the session when data exceeds the credit', async () => {
    const { guest } = fixture
    const write = guest.request('Write', { path: `${fixture.directory}/too-much`, mode: 0o644, user: '', flags: 0 })
    await write.expect('Credit')
    for (let i = 0; i < 8; i++) write.send('Data', { bytes: Buffer.alloc(100_000) })
    await guest.hello()
    const list = guest.request('List', { path: fixture.directory, depth: 1 })
    expect((await list.all()).filter((message) => message.name === 'Entry')).toEqual([])
  })

  it('survives frames of noise', async () => {
    const { guest } = fixture
    let seed = 1
    const random = () => (seed = (seed * 48271) % 2147483647)
    for (let round = 0; round < 200; round++) {
      // Shutdown would be obeyed.
      const type = [3, 4, 6, 7, 10, 11, 21, 24, 25, 26, 27, 29, 30, 40, 42, 43, 49, 50, 53, 60, 62][random() % 21] ?? 4
      guest.sendBytes(
        frame(type, random() % 4, Buffer.from(Array.from({ length: random() % 60 }, () => random() % 256))),
      )
      if (round % 20 === 0) await guest.hello()
    }
    await guest.hello()
    expect((await guest.exec(['true'])).exited?.code).toBe(0)
  })

  it('ignores frames of channels that are gone', async () => {
    const { guest } = fixture
    guest.send('Data', 77, { bytes: Buffer.alloc(10) })
    guest.send('Credit', 77, { bytes: 10 })
    guest.send('Eof', 77, {})
    guest.send('Close', 77, {})
    guest.send('Ping', 0, { token: 3n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 3n })
  })

  it('refuses more channels than its table has', async () => {
    const { guest } = fixture
    const held = Array.from({ length: 4096 }, () =>
      guest.request('Write', { path: `${fixture.directory}/held`, mode: 0o644, user: '', flags: 2 }),
    )
    const last = await Promise.all(held.map(async (conversation) => (await conversation.next()).name))
    // Open files are fewer than channels, so that either bound may come first; none of them ends the guest.
    expect(new Set(last)).toEqual(new Set(last.includes('Failed') ? ['Credit', 'Failed'] : ['Credit']))
    guest.send('Ping', 0, { token: 4n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 4n })
    await guest.hello()
  })

  it('does not read, spin or grow while a host asks but does not listen', async () => {
    const { guest } = fixture
    const output = present(guest.child.stdout)
    output.pause()
    for (let token = 0n; token < 100_000n; token++) guest.send('Ping', 0, { token })
    await delay(300)
    const before = cpuTicks(present(guest.child.pid))
    await delay(500)
    expect(cpuTicks(present(guest.child.pid)) - before).toBeLessThanOrEqual(5)
    output.resume()
    for (let token = 0n; token < 100_000n; token++) expect((await guest.control.expect('Pong')).token).toBe(token)
  })

  it('answers a ping at once while output floods', async () => {
    const { guest } = fixture
    const flood = guest.request('Spawn', { ...SPAWN, argv: ['head', '-c', '200000000', '/dev/zero'] })
    await flood.expect('Spawned')
    const times: number[] = []
    for (let token = 0n; token < 50n; token++) {
      const start = performance.now()
      guest.send('Ping', 0, { token })
      await guest.control.expect('Pong')
      times.push(performance.now() - start)
    }
    times.sort((a, b) => a - b)
    // The test's own decoding of the flood is in this number; the point is that it does not grow with what is queued.
    expect(times[25]).toBeLessThan(50)
    flood.send('Close', {})
  })
})
