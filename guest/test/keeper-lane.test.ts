import { randomBytes } from 'node:crypto'
import { chmodSync, statSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MESSAGE_TYPES } from '../../packages/engine/src/link/messages.gen.ts'
import { data, eventually, TestKeeper } from './keeper-harness.ts'

const LANE = 16
/** Sends back what it gets, and greets on each descriptor that comes along. */
const ECHO = `
import os, socket
link = socket.socket(fileno=0)
while True:
    got, rights, _, _ = link.recvmsg(65536, socket.CMSG_SPACE(4))
    if not got: break
    link.sendall(got)
    for _, _, numbers in rights:
        lane = socket.socket(fileno=int.from_bytes(numbers[:4], 'little'))
        lane.sendall(bytes.fromhex('05000000' '0a000000' '01000000') + b'hello')
`

describe('a lane', () => {
  it('comes to the guest between two frames, however much there is for it', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch({ argv: ['/usr/bin/python3', '-c', ECHO], flags: LANE })
    expect(statSync(join(keeper.directory, 'lane.sock')).mode & 0o777).toBe(0o600)
    const payload = randomBytes(100_000)
    for (let at = 0; at < 20; at++) keeper.connection.send(data(at, payload))
    const lanes = await Promise.all([keeper.connect('lane.sock'), keeper.connect('lane.sock')])
    for (let at = 20; at < 40; at++) keeper.connection.send(data(at, payload))
    // The last that came is the one; another may have been on its way already.
    expect((await Promise.any(lanes.map((lane) => lane.next()))).payload.toString()).toBe('hello')
    let passed = 0
    for (let at = 0; at < 40;) {
      const frame = await keeper.connection.next()
      if (frame.type === MESSAGE_TYPES.Lane) {
        expect([frame.channel, frame.payload.length]).toEqual([0, 0])
        passed++
        continue
      }
      expect([frame.channel, frame.payload.equals(payload)]).toEqual([at++, true])
    }
    expect(passed).toBeGreaterThan(0)
  })

  it('outlives its engine in no keeper: what an engine leaves is at its end', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch({ argv: ['/usr/bin/python3', '-c', ECHO], flags: LANE })
    const lane = await keeper.connect('lane.sock')
    await lane.next()
    keeper.process.kill('SIGKILL')
    await lane.end()
  })

  it('is for root and the user of the keeper', async () => {
    await using keeper = new TestKeeper()
    await keeper.launch({ argv: ['/usr/bin/python3', '-c', ECHO], flags: LANE })
    chmodSync(keeper.directory, 0o755)
    chmodSync(join(keeper.directory, 'lane.sock'), 0o666)
    const attempt = `import socket; s = socket.socket(socket.AF_UNIX); s.connect('${keeper.directory}/lane.sock'); print(s.recv(5))`
    const python = ['/usr/bin/python3', '-c', attempt]
    const { stdout, stderr } = spawnSync('setpriv', ['--reuid=65534', '--clear-groups', ...python], {
      encoding: 'utf8',
    })
    expect(stdout + stderr).toBe("b''\n")
    expect((await (await keeper.connect('lane.sock')).next()).payload.toString()).toBe('hello')
  })

  it('is there only where it was asked for, and goes with the sandbox', async () => {
    await using without = new TestKeeper()
    await without.launch()
    expect([without.has('link.sock'), without.has('lane.sock')]).toEqual([true, false])
    await using keeper = new TestKeeper()
    await keeper.launch({ flags: LANE })
    expect(keeper.has('lane.sock')).toBe(true)
    keeper.process.kill('SIGTERM')
    await keeper.exited
    await eventually(() => !keeper.has('lane.sock'))
  })
})
