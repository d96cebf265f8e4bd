import { randomBytes } from 'node:crypto'
import { mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MESSAGE_TYPES } from '../../packages/engine/src/link/messages.gen.ts'
import { TestKeeper, data, eventually, frame, isAlive } from './keeper-harness.ts'

const LARGEST = 128 * 1024
const END = frame('KeeperEnd', 0, {})

describe('launch', () => {
  it('passes frames to the runtime and back', async () => {
    await using keeper = new TestKeeper()
    const pid = await keeper.launch()
    expect(isAlive(pid)).toBe(true)
    const payloads = [
      Buffer.alloc(0),
      Buffer.from('hello'),
      randomBytes(LARGEST),
      randomBytes(70_001),
      randomBytes(LARGEST - 1),
    ]
    for (const [channel, payload] of payloads.entries()) keeper.connection.send(data(channel, payload))
    for (const [channel, payload] of payloads.entries()) {
      const frame = await keeper.connection.next()
      expect(frame.channel).toBe(channel)
      expect(frame.type).toBe(MESSAGE_TYPES.Data)
      expect(frame.payload.equals(payload)).toBe(true)
    }
  })

  it('writes down its process and makes a socket for its user only', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    const [pid, started] = keeper.read('keeper.pid').trim().split(' ')
    expect(Number(pid)).toBe(keeper.process.pid)
    expect(Number(started)).toBeGreaterThan(0)
    expect(statSync(join(keeper.directory, 'link.sock')).mode & 0o777).toBe(0o600)
  })

  it('takes a directory whose path is longer than the address of a socket', async () => {
    await using keeper = new TestKeeper()
    const directory = join(keeper.directory, 'x'.repeat(200))
    mkdirSync(directory)
    await keeper.launch({ directory })
    expect(statSync(join(directory, 'link.sock')).isSocket()).toBe(true)
  })

  it.each([
    ['a relative program', { argv: ['cat'] }, '22 argv'],
    ['no program', { argv: [] }, '22 argv'],
    ['a program that is not there', { argv: ['/nowhere/cat'] }, '2 exec /nowhere/cat'],
    ['a directory that is not there', { directory: '/nowhere' }, '2 directory /nowhere'],
    ['an unknown step', { steps: ['explode', '/'] }, '22 steps: explode'],
    ['a step without its arguments', { steps: ['bind', '/usr'] }, '22 steps: bind'],
    ['a mapping without ids', { steps: ['bind', '/usr', '/mnt', 'idmap'] }, '22 steps: bind'],
    ['a comma in a layer', { steps: ['overlay', '/mnt', '/usr', '/a,b', '/c', '-'] }, '22 steps: overlay'],
    ['half a pair of writes', { writes: ['/tmp/x'] }, '22 writes'],
    ['a descriptor out of range', { files: ['2', '/dev/null'] }, '22 files'],
    ['an unknown flag', { flags: 8 }, '22 flags'],
    ['a write that cannot be done', { writes: ['/proc/version', 'x'] }, 'write /proc/version'],
  ])('refuses %s and ends', async (_, options, expected) => {
    await using keeper = new TestKeeper()
    await expect(keeper.launch(options)).rejects.toThrow(expected)
    expect(await keeper.exited).toBe(1)
    expect(keeper.has('link.sock')).toBe(false)
    expect(keeper.has('keeper.pid')).toBe(false)
  })

  it('ends when its engine goes away before the launch', async () => {
    await using keeper = new TestKeeper()
    await keeper.request('KeeperPrepare', { cgroups: [] })
    keeper.connection.socket.destroy()
    expect(await keeper.exited).toBe(1)
  })

  it('ends when told to before the launch', async () => {
    await using keeper = new TestKeeper()
    await keeper.request('KeeperPrepare', { cgroups: [] })
    keeper.process.kill('SIGTERM')
    expect(await keeper.exited).toBe(1)
  })

  it('gives the runtime its environment, its descriptors and nothing else', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell('env >out; ls -l /proc/self/fd >fds; cat <&9 >nine; touch done; exec cat', {
      environment: ['PATH=/usr/bin:/bin', 'A=b c'],
      files: ['9', '/proc/version', '3', '/proc/uptime'],
    })
    await eventually(() => keeper.has('done'))
    expect(
      keeper
        .read('out')
        .split('\n')
        .filter((line) => !/^(PWD|SHLVL|OLDPWD|_)=/.test(line))
        .toSorted(),
    ).toEqual(['', 'A=b c', 'PATH=/usr/bin:/bin'])
    expect(keeper.read('nine')).toContain('Linux')
    const descriptors = [...keeper.read('fds').matchAll(/ (\d+) -> (\S+)/g)].map((match) => [
      match[1],
      match[2]?.replace(/:.*/, ''),
    ])
    const listing = descriptors.find(([, target]) => /^\/proc\/\d+\/fd$/.test(target ?? ''))
    expect(descriptors.filter((descriptor) => descriptor !== listing)).toEqual([
      ['0', 'socket'],
      ['1', join(keeper.directory, 'fds')],
      ['2', 'pipe'],
      ['3', '/proc/uptime'],
      ['9', '/proc/version'],
    ])
  })

  it.runIf(process.getuid?.() === 0)('takes membarrier away from a runtime that does without it', async () => {
    const call = `syscall(${process.arch === 'arm64' ? 283 : 324}, 0, 0)`
    const command = `perl -e 'print ${call}, " ", $!+0' >out; readlink /proc/self/fd/511 >high; touch done; exec cat`
    for (const [flags, expected] of [
      [0, /^[1-9]\d* 0$/],
      [4, /^-1 38$/],
    ] as const) {
      await using keeper = new TestKeeper()
      await keeper.shell(command, { flags, files: ['511', '/dev/null'] })
      await eventually(() => keeper.has('done'))
      expect(keeper.read('out')).toMatch(expected)
      expect(keeper.read('high')).toBe('/dev/null\n')
    }
  })
})

describe('engines', () => {
  it('never lets a part of a frame reach the guest', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    const half = data(1, Buffer.alloc(LARGEST, 1)).subarray(0, 100_000)
    keeper.connection.send(data(5, Buffer.from('whole')), half)
    expect((await keeper.connection.next()).channel).toBe(5)
    keeper.connection.socket.destroy()
    await using second = { connection: await keeper.connect(), [Symbol.asyncDispose]: async () => undefined }
    second.connection.send(data(2, Buffer.from('two')))
    const answer = await second.connection.next()
    expect([answer.channel, answer.payload.toString()]).toEqual([2, 'two'])
  })

  it('begins every connection with a whole frame, whatever the one before had taken', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    let connection = keeper.connection
    for (let round = 1; round <= 20; round++) {
      connection.socket.pause()
      for (let i = 0; i < 12; i++) connection.send(data(round, Buffer.alloc(LARGEST - round, round)))
      await new Promise((resolve) => setTimeout(resolve, 3))
      connection.socket.destroy()
      connection = await keeper.connect()
      connection.send(data(1000 + round, Buffer.from(`marker ${round}`)))
      for (;;) {
        const next = await connection.next()
        if (next.channel === 1000 + round) break
        expect(next.payload.length).toBe(LARGEST - next.channel)
        expect(next.payload.every((byte) => byte === next.channel)).toBe(true)
      }
    }
    connection.send(END)
    expect(await keeper.exited).toBe(0)
  })

  it('serves one at a time, and keeps the next one waiting until it has gone', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    const second = await keeper.connect()
    second.send(data(2, Buffer.from('waited')))
    for (const text of ['still', 'here']) {
      keeper.connection.send(data(1, Buffer.from(text)))
      expect((await keeper.connection.next()).payload.toString()).toBe(text)
    }
    keeper.connection.socket.destroy()
    expect((await second.next()).payload.toString()).toBe('waited')
    second.send(END)
    expect(await keeper.exited).toBe(0)
  })

  it('lets go of an engine that breaks a rule, and keeps the sandbox', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    keeper.connection.send(data(1, Buffer.from('good')))
    expect((await keeper.connection.next()).payload.toString()).toBe('good')
    keeper.connection.send(Buffer.from('ffffffff0a00000001000000', 'hex'), Buffer.alloc(64))
    await keeper.connection.end()
    const second = await keeper.connect()
    second.send(frame('KeeperPrepare', 1, { cgroups: [] }))
    await second.end()
    const third = await keeper.connect()
    third.send(data(3, Buffer.from('fine')))
    expect((await third.next()).payload.toString()).toBe('fine')
    third.send(END)
    expect(await keeper.exited).toBe(0)
  })

  it('drops frames while there is no engine, and holds up the guest while there is a slow one', async () => {
    await using keeper = new TestKeeper()
    // Frames of 64 KiB without an end, then a count of how many were written.
    await keeper.shell(
      `exec python3 -c '
import os,struct
f=struct.pack("<IBxxxI",65536,10,1)+bytes(65536)
n=0
while True:
    os.write(1,f); n+=1
    if n%100==0: open("count","w").write(str(n))
'`,
    )
    keeper.connection.socket.pause()
    const count = (): number => (keeper.has('count') ? Number(keeper.read('count')) : 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(count()).toBe(0)
    keeper.connection.socket.destroy()
    await eventually(() => count() > 1000)
    const next = await keeper.connect()
    expect((await next.next()).payload.length).toBe(65_536)
    next.send(END)
    expect(await keeper.exited).toBe(0)
    expect(keeper.exitFile()).toMatchObject({ exitCode: null, signal: 9, reason: 'told' })
  })
})

describe('a hostile runtime', () => {
  it.each([
    ['a length beyond the limit', '\\001\\000\\002\\000\\012\\000\\000\\000\\001\\000\\000\\000'],
    ['reserved bytes', '\\001\\000\\000\\000\\012\\001\\000\\000\\001\\000\\000\\000x'],
    ["a keeper's type", '\\000\\000\\000\\000\\362\\000\\000\\000\\001\\000\\000\\000'],
  ])('is ended after %s', async (_, bytes) => {
    await using keeper = new TestKeeper()
    const good = '\\002\\000\\000\\000\\012\\000\\000\\000\\011\\000\\000\\000ok'
    const pid = await keeper.shell(`printf '${good}${bytes}'; sleep 100`)
    const frames = await keeper.connection.end()
    expect(frames.map(({ channel, payload }) => [channel, payload.toString()])).toEqual([[9, 'ok']])
    expect(await keeper.exited).toBe(0)
    expect(isAlive(pid)).toBe(false)
    expect(keeper.exitFile()).toMatchObject({ exitCode: null, signal: 9, reason: 'violation' })
  })

  it('cannot fill the disk with its standard error', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell('echo first >&2; head -c 30000000 /dev/zero | tr "\\0" x >&2; echo last >&2')
    await keeper.exited
    const log = keeper.read('runtime.log')
    expect(log.length).toBeLessThanOrEqual(129 * 1024)
    expect(log.startsWith('first\nxxx')).toBe(true)
    expect(log.endsWith('xxxlast\n')).toBe(true)
    const dropped = Number(/\n\[(\d+) bytes left out *\]\n/.exec(log)?.[1])
    expect(dropped + log.length - 64).toBe(30_000_000 + 'first\n'.length + 'last\n'.length)
  })

  it('is ended when it closes the stream and stays', { timeout: 30_000 }, async () => {
    await using keeper = new TestKeeper()
    const pid = await keeper.shell('exec sleep 100 <&- >&-')
    await keeper.exited
    expect(isAlive(pid)).toBe(false)
    expect(keeper.exitFile()).toMatchObject({ reason: 'closed' })
  })
})
