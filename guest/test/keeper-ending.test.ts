import { existsSync, mkdtempSync, readFileSync, rmSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { TestKeeper, data, eventually, frame, isAlive } from './keeper-harness.ts'

const END = frame('KeeperEnd', 0, {})

/** Leaves behind a process that has left its session, its group and its parent, and writes down its number. */
const ESCAPE = `setsid sh -c 'setsid sleep 1000 & echo $! >escaped' >/dev/null 2>&1 <&1 &`

describe('a keeper without an engine', () => {
  it('keeps the deadline that the engine wrote down, and one that was moved', { timeout: 30_000 }, async () => {
    await using expired = new TestKeeper()
    await using renewed = new TestKeeper()
    const pid = await expired.launch()
    await renewed.launch()
    writeFileSync(join(expired.directory, 'deadline'), String(Date.now() - 1))
    writeFileSync(join(renewed.directory, 'deadline'), String(Date.now() + 60_000))
    expired.connection.socket.destroy()
    renewed.connection.socket.destroy()
    await expect(expired.exited).resolves.toBe(0)
    expect(expired.exitFile()).toMatchObject({ reason: 'expired' })
    expect([isAlive(pid), renewed.has('exit.json')]).toEqual([false, false])
  })
})

describe('the end of a runtime', () => {
  it.each([
    ['exit 0', { exitCode: 0, signal: null, reason: 'exited' }],
    ['exit 7', { exitCode: 7, signal: null, reason: 'exited' }],
    ['kill -SEGV $$', { exitCode: null, signal: 11, reason: 'exited' }],
  ])('is written down: %s', async (command, expected) => {
    await using keeper = new TestKeeper()
    const before = Date.now()
    await keeper.shell(`sleep 0.05; ${command}`)
    await keeper.connection.end()
    // It is there when the engine sees the connection close.
    const written = keeper.exitFile()
    expect(written).toMatchObject(expected)
    expect((written as { endedAt: number }).endedAt).toBeGreaterThanOrEqual(before)
    expect(await keeper.exited).toBe(0)
    expect([keeper.has('link.sock'), keeper.has('keeper.pid'), keeper.has('exit.json.new')]).toEqual([
      false,
      false,
      false,
    ])
  })

  it('loses nothing of what a fast runtime said', async () => {
    for (let round = 0; round < 10; round++) {
      await using keeper = new TestKeeper()
      await keeper.launch({
        argv: [
          '/usr/bin/python3',
          '-c',
          'import os,struct\nfor i in range(40): os.write(1,struct.pack("<IBxxxI",100000,10,i)+bytes(100000))',
        ],
      })
      const frames = await keeper.connection.end()
      expect(frames.map(({ channel, payload }) => [channel, payload.length])).toEqual(
        Array.from({ length: 40 }, (_, i) => [i, 100_000]),
      )
      expect(keeper.connection.unfinished).toBe(0)
    }
  })

  it('does not wait for an engine that takes nothing', { timeout: 15_000 }, async () => {
    await using keeper = new TestKeeper()
    await keeper.launch({
      argv: [
        '/usr/bin/python3',
        '-c',
        'import os,struct\nfor i in range(4): os.write(1,struct.pack("<IBxxxI",100000,10,i)+bytes(100000))',
      ],
    })
    keeper.connection.socket.pause()
    expect(await keeper.exited).toBe(0)
    expect(keeper.exitFile()).toMatchObject({ reason: 'exited' })
  })

  it('is also the end of what it left behind', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell(`${ESCAPE} while [ ! -s escaped ]; do sleep 0.01; done`)
    expect(await keeper.exited).toBe(0)
    const escaped = Number(keeper.read('escaped'))
    expect(escaped).toBeGreaterThan(0)
    expect(isAlive(escaped)).toBe(false)
  })
})

describe('the end by an engine', () => {
  it.each(['KeeperEnd', 'SIGTERM'] as const)('comes with %s and kills everything', async (how) => {
    await using keeper = new TestKeeper()
    const pid = await keeper.shell(`trap '' TERM INT HUP; ${ESCAPE} exec cat`)
    await eventually(() => keeper.has('escaped') && keeper.read('escaped').length > 1)
    const escaped = Number(keeper.read('escaped'))
    expect([isAlive(pid), isAlive(escaped)]).toEqual([true, true])
    if (how === 'SIGTERM') keeper.process.kill('SIGTERM')
    else keeper.connection.send(data(1, Buffer.from('before')), END)
    expect(await keeper.exited).toBe(0)
    expect([isAlive(pid), isAlive(escaped)]).toEqual([false, false])
    expect(keeper.exitFile()).toMatchObject({ exitCode: null, signal: 9, reason: 'told' })
  })

  it('catches a runtime that forks without an end', { timeout: 30_000 }, async () => {
    const cgroup = `/sys/fs/cgroup/pids/keeper-test-${process.pid}/bomb`
    await using keeper = new TestKeeper()
    await keeper.shell(`sh -c 'f() { setsid sh -c true & f & f; }; f' 2>/dev/null; exec cat`, {
      cgroups: [cgroup],
      writes: [`${cgroup}/pids.max`, '100'],
    })
    await eventually(() => Number(readFileSync(`${cgroup}/pids.current`, 'utf8')) > 20)
    keeper.connection.send(END)
    expect(await keeper.exited).toBe(0)
    expect(existsSync(cgroup)).toBe(false)
    rmdirSync(join(cgroup, '..'))
  })

  it('comes when no engine is there and its socket is gone', { timeout: 30_000 }, async () => {
    await using keeper = new TestKeeper()
    const pid = await keeper.launch()
    rmSync(keeper.directory, { recursive: true })
    keeper.connection.send(data(1, Buffer.from('still here')))
    expect((await keeper.connection.next()).payload.toString()).toBe('still here')
    keeper.connection.socket.destroy()
    expect(await keeper.exited).toBe(0)
    expect(isAlive(pid)).toBe(false)
  })

  it('comes also when the keeper itself is killed', async () => {
    await using keeper = new TestKeeper()
    const pid = await keeper.shell('exec sleep 1000')
    keeper.process.kill('SIGKILL')
    await keeper.exited
    await eventually(() => !isAlive(pid))
    expect(keeper.has('exit.json')).toBe(false)
  })
})

describe('cleanup', () => {
  it('is run after the runtime, without its link', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell('exit 3', {
      cleanup: ['/bin/sh', '-c', 'readlink /proc/self/fd/0 >cleaned; ls exit.json 2>&1 >>cleaned; echo $A >>cleaned'],
      environment: ['A=b', 'PATH=/bin:/usr/bin'],
    })
    await keeper.connection.end()
    expect(keeper.read('cleaned')).toBe('/dev/null\nb\n')
    expect(keeper.exitFile()).toMatchObject({ exitCode: 3 })
  })

  it('is given up after ten seconds, with what it started', { timeout: 30_000 }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'cleanup-'))
    await using keeper = new TestKeeper()
    await keeper.shell('exit 0', { cleanup: ['/bin/sh', '-c', `sleep 1000 & echo $! >${directory}/pid; wait`] })
    const started = Date.now()
    expect(await keeper.exited).toBe(0)
    expect(Date.now() - started).toBeLessThan(13_000)
    expect(isAlive(Number(readFileSync(join(directory, 'pid'), 'utf8')))).toBe(false)
    expect(existsSync(join(keeper.directory, 'exit.json'))).toBe(true)
    rmSync(directory, { recursive: true })
  })
})
