import { existsSync, readdirSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { isAlive, PROGRAM, TestKeeper } from './keeper-harness.ts'

const IDS = { idBase: 1_073_000_000, idCount: 65_536, flags: 9 }
const STAGE = '/run/hearth-ahead-test'
const GATE = join(STAGE, 'gate')

/** Waits at its gate, as the hook of a runtime does. What is mounted is seen by it alone. */
const HELD = {
  ...IDS,
  steps: [
    ['mkdir', STAGE, '755'],
    ['tmpfs', STAGE, 'mode=755'],
    ['fifo', GATE],
    ['mkdir', join(STAGE, 'bin'), '755'],
    ['bind', dirname(PROGRAM), join(STAGE, 'bin'), 'ro'],
  ].flat(),
  argv: [join(STAGE, 'bin', basename(PROGRAM)), 'hold', GATE],
}

// Its mounts are gone with those who saw them.
afterAll(() => rmSync(STAGE, { recursive: true, force: true }))

describe.skipIf(process.getuid?.() !== 0)('a runtime that was launched ahead of time', () => {
  it('is in nobody’s directory, and ends with its engine', async () => {
    await using keeper = new TestKeeper()
    const runtime = await keeper.launch(HELD)
    expect(isAlive(runtime)).toBe(true)
    expect(readdirSync(keeper.directory)).toEqual([])
    keeper.connection.socket.destroy()
    expect(await keeper.exited).toBe(1)
    expect(isAlive(runtime)).toBe(false)
  })

  it('takes its keeper with it when it ends before it is wanted', async () => {
    await using keeper = new TestKeeper()
    const runtime = await keeper.launch(HELD)
    process.kill(runtime, 'SIGKILL')
    expect(await keeper.exited).toBe(1)
  })

  it('is not claimed by halves', async () => {
    await using keeper = new TestKeeper()
    const runtime = await keeper.launch(HELD)
    const claim = keeper.request('KeeperClaim', {
      directory: keeper.directory,
      writes: [],
      steps: ['mkdir', join(STAGE, 'root'), '755'],
      server: 'nobody',
      root: join(STAGE, 'root'),
      binds: [],
      gate: GATE,
    })
    await expect(claim).rejects.toThrow('root: no nobody')
    expect(await keeper.exited).toBe(1)
    expect(isAlive(runtime)).toBe(false)
    expect(readdirSync(keeper.directory)).toEqual(['runtime.log'])
    expect(existsSync(join(STAGE, 'root'))).toBe(false)
  })

  it('needs a user namespace to be executed in', async () => {
    await using keeper = new TestKeeper()
    await expect(keeper.launch({ argv: ['/bin/sleep', '1'], flags: 8 })).rejects.toThrow('flags: 8 needs 1')
  })
})
