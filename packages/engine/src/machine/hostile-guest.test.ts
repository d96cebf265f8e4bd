import { BOUNDS, type Process } from '@hearth/contract'
import { describe, expect, test, vi } from 'vitest'
import { REQUEST_TIMEOUT_MS } from '../link/link.ts'
import type { MessageName, Messages } from '../link/messages.gen.ts'
import { frameOf, ScriptedPeer } from '../link/scripted-peer.ts'
import { scriptedMachine } from './scripted-machine.ts'
import type { LinkMachine } from './link-machine.ts'
import type { ProcessSpec } from './machine.ts'

const SPEC: ProcessSpec = {
  command: ['/bin/true'],
  env: {},
  cwd: null,
  user: null,
  timeoutMs: 0,
  pty: null,
  stdin: 'none',
  mergeOutput: false,
}

const ENTRY = { path: '/a', type: 1, mode: 0o644, uid: 0, gid: 0, size: 3n, modifiedNanoseconds: 0n, target: '' }
const EXITED = { code: 0, signal: 0, flags: 0, outputBytes: 0n, cpuMicroseconds: 0n, durationMicroseconds: 0n }
const PROCESS = {
  ...EXITED,
  process: 1,
  pid: 2,
  startedNanoseconds: 0n,
  state: 0,
  oldestOffset: 0n,
  argv: ['a'],
}
const USAGE = {
  memoryBytes: 0n,
  cpuMicroseconds: 0n,
  processes: 0,
  diskUsedBytes: 0n,
  diskTotalBytes: 0n,
  uptimeMilliseconds: 0n,
}
const TOO_LARGE = 2n ** 53n

type Lie = readonly [
  what: string,
  call: (machine: LinkMachine) => Promise<unknown>,
  answers: readonly { [Name in MessageName]: readonly [Name, Messages[Name]] }[MessageName][],
]

async function consume(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const piece of stream) expect(piece).toBeDefined()
}

async function spawnAndWait(machine: LinkMachine): Promise<unknown> {
  const process = await machine.spawn(SPEC)
  await consume(process.output)
  return await process.wait()
}

const spawned = ['Spawned', { process: 1, pid: 2, oldestOffset: 0n }] as const
const output = (offset: bigint, bytes: Uint8Array, stream = 1) => ['Output', { stream, offset, bytes }] as const
const chunk = Buffer.alloc(65_536)

const LIES: readonly Lie[] = [
  ['output that goes back', spawnAndWait, [spawned, output(10n, Buffer.from('abc')), output(12n, Buffer.from('d'))]],
  ['output before Spawned', spawnAndWait, [output(0n, Buffer.from('abc'))]],
  ['an exit before Spawned', spawnAndWait, [['Exited', EXITED]]],
  ['two processes for one', spawnAndWait, [spawned, spawned]],
  ['a stream that does not exist', spawnAndWait, [spawned, output(0n, Buffer.from('a'), 3)]],
  ['an offset beyond all numbers', spawnAndWait, [spawned, output(TOO_LARGE, Buffer.from('a'))]],
  ['an exit code beyond all', spawnAndWait, [spawned, ['Exited', { ...EXITED, code: 256 }]]],
  ['a signal beyond all', spawnAndWait, [spawned, ['Exited', { ...EXITED, signal: 65 }]]],
  [
    'less output than was sent',
    spawnAndWait,
    [spawned, output(0n, Buffer.from('abc')), ['Exited', { ...EXITED, outputBytes: 2n }]],
  ],
  ['a time beyond all', spawnAndWait, [spawned, ['Exited', { ...EXITED, durationMicroseconds: TOO_LARGE }]]],
  ['another process', (machine) => machine.attach(7, 0), [spawned]],
  ['a file type that does not exist', (machine) => machine.files.stat('/a'), [['Entry', { ...ENTRY, type: 7 }]]],
  ['a file of absurd size', (machine) => machine.files.stat('/a'), [['Entry', { ...ENTRY, size: TOO_LARGE }]]],
  ['data before its Entry', (machine) => machine.files.read('/a'), [['Data', { bytes: chunk }]]],
  [
    'two entries',
    (machine) => machine.files.read('/a'),
    [
      ['Entry', ENTRY],
      ['Entry', ENTRY],
    ],
  ],
  [
    'more than was asked for',
    (machine) => machine.files.read('/a', { length: 2 }),
    [
      ['Entry', ENTRY],
      ['Data', { bytes: chunk }],
    ],
  ],
  ['a read without an Entry', (machine) => machine.files.read('/a'), [['Done', { value: 0n }]]],
  ['a write that is confirmed too early', (machine) => machine.files.write('/a', 'abc'), [['Entry', ENTRY]]],
  [
    'an extraction that is confirmed too early',
    (machine) => machine.files.extract('/a', chunk),
    [['Done', { value: 0n }]],
  ],
  [
    'a change before the watch',
    (machine) => machine.watch('/a', true),
    [['Changed', { kind: 1, path: '/a', from: '' }]],
  ],
  ['bytes before the connection', (machine) => machine.connect(80), [['Data', { bytes: chunk }]]],
  ['a state that does not exist', (machine) => machine.processes(), [['Process', { ...PROCESS, state: 2 }]]],
  ['statistics beyond all', (machine) => machine.stats(), [['Usage', { ...USAGE, memoryBytes: TOO_LARGE }]]],
]

describe('a guest that lies', () => {
  test.each(LIES)('%s', async (_what, call, answers) => {
    const peer = await ScriptedPeer.greeted()
    const { machine, kills } = scriptedMachine(peer)
    const failure = call(machine).then(
      () => null,
      (error: unknown) => error,
    )
    const { channel } = await peer.next()
    for (const [name, message] of answers) peer.say(name, message as Messages[typeof name], channel)
    expect(await failure).toMatchObject({ code: 'protocol_violation' })
    expect(await machine.ended).toMatchObject({ reason: 'protocol_violation' })
    expect(kills()).toBe(1)
  })
})

async function spawnOn(peer: ScriptedPeer, machine: LinkMachine): Promise<{ process: Process; channel: number }> {
  const starting = machine.spawn(SPEC)
  const channel = await peer.expect('Spawn')
  peer.say(...spawned, channel)
  return { process: await starting, channel }
}

describe('credit', () => {
  test('output beyond the credit is a violation', async () => {
    const peer = await ScriptedPeer.greeted()
    const { machine } = scriptedMachine(peer)
    const { process, channel } = await spawnOn(peer, machine)
    for (let sent = 0; sent <= BOUNDS.channelWindowBytes; sent += chunk.length)
      peer.say(...output(BigInt(sent), chunk), channel)
    expect(await machine.ended).toMatchObject({ reason: 'protocol_violation' })
    await expect(consume(process.output)).rejects.toMatchObject({ code: 'protocol_violation' })
    await expect(process.wait()).rejects.toMatchObject({ code: 'protocol_violation' })
  })

  test('a hundred thousand tiny pieces within the credit cost no multiple of it', async () => {
    const peer = await ScriptedPeer.greeted()
    const { machine } = scriptedMachine(peer)
    const { process, channel } = await spawnOn(peer, machine)
    const count = 100_000
    const frames = Array.from({ length: count }, (_, offset) =>
      frameOf(...output(BigInt(offset), Buffer.from('x')), channel),
    )
    peer.raw(Buffer.concat(frames))
    peer.say('Exited', { ...EXITED, outputBytes: BigInt(count) }, channel)
    await new Promise((resolve) => {
      setTimeout(resolve, 300)
    })
    let bytes = 0
    let pieces = 0
    for await (const piece of process.output) {
      expect(piece.offset).toBe(bytes)
      bytes += piece.data.length
      pieces++
    }
    expect(bytes).toBe(count)
    expect(pieces).toBeLessThan(100)
  })

  test('credit is granted only as output is taken', async () => {
    const peer = await ScriptedPeer.greeted()
    const { machine } = scriptedMachine(peer)
    const { process, channel } = await spawnOn(peer, machine)
    peer.say(...output(0n, chunk), channel)
    peer.say(...output(BigInt(chunk.length + 5), chunk, 2), channel)
    const iterator = process.output[Symbol.asyncIterator]()
    const first = await iterator.next()
    expect(first.value).toMatchObject({ stream: 'stdout', offset: 0, dropped: 0 })
    expect(await peer.expect('Credit')).toBe(channel)
    const second = await iterator.next()
    expect(second.value).toMatchObject({ stream: 'stderr', offset: chunk.length + 5, dropped: 5 })
    await process.detach()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    await expect(process.wait()).rejects.toMatchObject({ code: 'aborted' })
  })
})

describe('a guest without an end', () => {
  test('a list of processes', async () => {
    const peer = await ScriptedPeer.greeted()
    const { machine } = scriptedMachine(peer)
    const list = machine.processes().catch((error: unknown) => error)
    const channel = await peer.expect('ListProcesses')
    const argv = Array.from({ length: 100 }, () => 'x'.repeat(1000))
    for (let count = 0; count < 400; count++) peer.say('Process', { ...PROCESS, argv }, channel)
    expect(await list).toMatchObject({ code: 'protocol_violation' })
  })

  test('a file whose size is a lie is read only as far as its bytes come', async () => {
    const peer = await ScriptedPeer.greeted()
    const { machine } = scriptedMachine(peer)
    const refused = machine.files.read('/a').catch((error: unknown) => error)
    peer.say('Entry', { ...ENTRY, size: 2n ** 50n }, await peer.expect('Read'))
    expect(await refused).toMatchObject({ code: 'file_failed' })
    const read = machine.files.read('/a')
    await peer.expect('Credit')
    await peer.expect('Close')
    const channel = await peer.expect('Read')
    peer.say('Entry', { ...ENTRY, size: 0n }, channel)
    peer.say('Data', { bytes: Buffer.from('more') }, channel)
    peer.say('Done', { value: 0n }, channel)
    expect(Buffer.from(await read).toString()).toBe('more')
  })

  test('a process whose end is never reported, long after its timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const peer = await ScriptedPeer.greeted()
      const { machine } = scriptedMachine(peer)
      const starting = machine.spawn({ ...SPEC, timeoutMs: 1000 })
      const channel = await peer.expect('Spawn')
      peer.say(...spawned, channel)
      const process = await starting
      const waiting = process.wait().catch((error: unknown) => error)
      vi.advanceTimersByTime(5000)
      peer.say(...output(0n, Buffer.from('alive')), channel)
      expect(await process.output[Symbol.asyncIterator]().next()).toMatchObject({ value: { offset: 0 } })
      vi.advanceTimersByTime(10_900)
      expect(peer.link.violation).toBeNull()
      vi.advanceTimersByTime(200)
      expect(await waiting).toMatchObject({ code: 'timeout' })
      expect(await peer.expect('Close')).toBe(channel)
    } finally {
      vi.useRealTimers()
    }
  })

  test('silence after the first words of a download or an upload', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const peer = await ScriptedPeer.greeted()
      const { machine } = scriptedMachine(peer)
      const reading = machine.files.read('/a').catch((error: unknown) => error)
      peer.say('Entry', ENTRY, await peer.expect('Read'))
      await peer.expect('Credit')
      const writing = machine.files.write('/a', 'content').catch((error: unknown) => error)
      await peer.expect('Write')
      vi.advanceTimersByTime(REQUEST_TIMEOUT_MS + 1)
      expect(await reading).toMatchObject({ code: 'timeout' })
      expect(await writing).toMatchObject({ code: 'timeout' })
    } finally {
      vi.useRealTimers()
    }
  })
})
