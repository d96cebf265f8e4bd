import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { TestKeeper, data, eventually, frame, isAlive } from './keeper-harness.ts'

const PAUSE = frame('KeeperPause', 0, {})
const RESUME = frame('KeeperResume', 0, {})
const END = frame('KeeperEnd', 0, {})

/** The letter of the state: T is stopped. */
function state(pid: number): string {
  return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? 'X'
}

async function pause(keeper: TestKeeper): Promise<void> {
  keeper.connection.send(PAUSE)
  await eventually(() => keeper.has('paused'))
}

async function resume(keeper: TestKeeper): Promise<void> {
  keeper.connection.send(RESUME)
  await eventually(() => !keeper.has('paused'))
}

async function numberIn(keeper: TestKeeper, name: string): Promise<number> {
  await eventually(() => keeper.has(name) && /^\d+\n/.test(keeper.read(name)))
  return Number(keeper.read(name))
}

describe('a paused sandbox', () => {
  it('has no process that runs, also none that escaped, and goes on where it was', async () => {
    await using keeper = new TestKeeper()
    const pid = await keeper.shell(
      `setsid sh -c 'echo $$ >escaped; while :; do echo x >>ticks; sleep 0.01; done' >/dev/null 2>&1 <&1 & exec cat`,
    )
    const escaped = await numberIn(keeper, 'escaped')
    await eventually(() => keeper.has('ticks'))
    await pause(keeper)
    expect([state(pid), state(escaped)]).toEqual(['T', 'T'])
    const ticks = keeper.read('ticks').length
    keeper.connection.send(PAUSE)
    await sleep(100)
    expect(keeper.read('ticks').length).toBe(ticks)
    expect(Number(keeper.read('paused'))).toBeGreaterThan(Date.now() - 60_000)
    await resume(keeper)
    await eventually(() => keeper.read('ticks').length > ticks)
    keeper.connection.send(data(1, Buffer.from('awake')))
    expect((await keeper.connection.next()).payload.toString()).toBe('awake')
  })

  it('takes frames before, between and after these messages in their order', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch()
    const one = data(1, Buffer.alloc(1000, 'a'))
    keeper.connection.send(Buffer.concat([RESUME, one, PAUSE, PAUSE, RESUME, data(2, Buffer.from('b')), PAUSE, RESUME]))
    keeper.connection.send(data(3, Buffer.from('c')))
    const lengths = []
    for (let count = 0; count < 3; count++) {
      const { channel, payload } = await keeper.connection.next()
      lengths.push([channel, payload.length])
    }
    expect(lengths).toEqual([
      [1, 1000],
      [2, 1],
      [3, 1],
    ])
  })

  it('is woken also behind a frame that is not read, and by a later engine', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell('sleep 0.2; exec cat')
    const large = Buffer.alloc(120_000, 'z')
    keeper.connection.send(data(1, large), data(2, large), data(3, large), PAUSE)
    await eventually(() => keeper.has('paused'))
    keeper.connection.socket.destroy()
    const later = await keeper.connect()
    later.send(RESUME, data(4, Buffer.from('later')))
    let last = await later.next()
    while (last.channel !== 4) last = await later.next()
    expect(last.payload.toString()).toBe('later')
    expect(keeper.has('paused')).toBe(false)
  })

  it('leaves stopped what was stopped before', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell(`sh -c 'echo $$ >own; kill -STOP $$; sleep 1000' & exec cat`)
    const own = await numberIn(keeper, 'own')
    await eventually(() => state(own) === 'T')
    await pause(keeper)
    await resume(keeper)
    await sleep(20)
    expect(state(own)).toBe('T')
  })

  it('is not seen by a shell with jobs', async () => {
    await using keeper = new TestKeeper()
    const script = 'set -m; sleep 0.3; echo status $? >status; jobs >>status; exec cat'
    await keeper.launch({ argv: ['/bin/bash', '-c', script] })
    await sleep(50)
    await pause(keeper)
    await sleep(400)
    await resume(keeper)
    await eventually(() => keeper.has('status') && keeper.read('status').includes('status'))
    expect(keeper.read('status')).toBe('status 0\n')
  })

  it.each(['KeeperEnd', 'SIGTERM'] as const)('is ended by %s', async (how) => {
    await using keeper = new TestKeeper()
    const pid = await keeper.launch()
    await pause(keeper)
    if (how === 'SIGTERM') keeper.process.kill('SIGTERM')
    else keeper.connection.send(END)
    expect(await keeper.exited).toBe(0)
    expect([isAlive(pid), keeper.has('paused')]).toEqual([false, false])
    expect(keeper.exitFile()).toMatchObject({ reason: 'told' })
  })

  it('catches one that forks all the time', async () => {
    await using keeper = new TestKeeper()
    await keeper.shell(`f() { (f) & }; while :; do (true) & (sh -c true) & wait; done 2>/dev/null`)
    await sleep(100)
    await pause(keeper)
    const group = readFileSync(
      join('/proc', String(keeper.process.pid), 'task', String(keeper.process.pid), 'children'),
      'utf8',
    )
    for (const pid of group.split(' ').filter(Boolean)) expect(['T', 'Z']).toContain(state(Number(pid)))
    await resume(keeper)
  })
})
