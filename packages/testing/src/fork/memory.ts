import { HearthError, type Sandbox } from '@hearth/contract'
import { expect } from 'vitest'
import { eventually, output, readUntil, sleep } from '../support/expectations.ts'
import { Copies, type ForkSuite } from './fork-suite.ts'

/** Counts in memory, keeps a file open that has lost its name's content, and writes a log that says what it is called. */
const COUNTER = `
import os, time
held = open('/tmp/srv/held', 'w+')
log = open('/tmp/srv/log', 'a', buffering=1)
counter = 0
name = 'parent'
while True:
    counter += 1
    if os.path.exists('/tmp/srv/name'):
        name = open('/tmp/srv/name').read().strip()
    held.seek(0)
    held.write(str(counter))
    held.flush()
    log.write(f'{counter} {name}\\n')
    time.sleep(0.1)
`

/** Accepts one connection, echoes, and writes down how it ended. */
const ECHO = `
import socket
server = socket.create_server(('127.0.0.1', 7000))
print('listening', flush=True)
connection, _ = server.accept()
try:
    while data := connection.recv(100):
        connection.sendall(data)
    end = 'closed'
except ConnectionResetError:
    end = 'reset'
open('/tmp/srv/end', 'w').write(end)
`

interface LogLine {
  readonly count: number
  readonly name: string
}

/** Many machines at once are asked seldom, so that they get on. */
async function untilLog(sandbox: Sandbox, holds: (log: LogLine[]) => boolean): Promise<LogLine[]> {
  const deadline = Date.now() + 90_000
  for (;;) {
    const log = await logOf(sandbox).catch((error: unknown) => {
      if (HearthError.isInstance(error) && error.code === 'file_not_found') return []
      throw error
    })
    if (holds(log)) return log
    if (Date.now() > deadline) expect.fail(`the log of ${sandbox.id} ends with ${JSON.stringify(log.slice(-3))}`)
    await sleep(300)
  }
}

async function logOf(sandbox: Sandbox): Promise<LogLine[]> {
  const lines = (await sandbox.files.readText('/tmp/srv/log')).split('\n').slice(0, -1)
  return lines.map((line) => {
    const [count = '', name = ''] = line.split(' ')
    return { count: Number(count), name }
  })
}

/** Every number once, and first the parent's. */
function expectUnbroken(log: readonly LogLine[]): void {
  expect(log.map((line) => line.count)).toEqual(log.map((_, index) => index + 1))
}

export function describeMemory(suite: ForkSuite): void {
  suite.withMemory('a program goes on in eight children from the same state', 120_000, async (parent) => {
    const program = await parent.spawn(['python3', '-c', COUNTER])
    await untilLog(parent, (log) => log.length > 5)
    const result = await parent.fork(8, { memory: 'required' })
    expect(result).toMatchObject({ memory: true, reason: null })
    await using copies = new Copies(result.children)
    const everybody = [...copies.all, parent]
    await Promise.all(everybody.map((sandbox, index) => sandbox.files.write('/tmp/srv/name', `copy-${index}`)))
    const logs = await Promise.all(
      everybody.map(async (sandbox, index) => {
        const named = (log: LogLine[]): boolean => log.filter((line) => line.name === `copy-${index}`).length > 3
        return await untilLog(sandbox, named)
      }),
    )
    for (const [index, log] of logs.entries()) {
      expectUnbroken(log)
      expect(new Set(log.map((line) => line.name))).toEqual(new Set(['parent', `copy-${index}`]))
    }
    for (const child of copies.all) {
      const processes = await child.processes()
      expect(processes.find((process) => process.id === program.id)?.exit).toBeNull()
      const held = Number(await child.files.readText('/tmp/srv/held'))
      expect(held).toBeGreaterThan(5)
    }
    expect(await output(parent, 'echo alive')).toBe('alive')
    await program.kill()
  })

  suite.withMemory('the time for which the parent stood still is not lost on its clock', 90_000, async (parent) => {
    await output(parent, 'head -c 60000000 /dev/urandom > /dev/shm/much')
    let pausedMs = 0
    for (let round = 0; round < 4; round++) {
      const forked = await parent.fork(1, { memory: 'required' })
      await using _copies = new Copies(forked.children)
      pausedMs += forked.pausedMs
    }
    const ahead: number[] = []
    for (let round = 0; round < 5; round++) {
      const asked = Date.now()
      ahead.push(Number(await output(parent, 'date +%s%N')) / 1e6 - asked)
    }
    expect(Math.min(...ahead), `it stood still for ${pausedMs} ms`).toBeGreaterThan(-pausedMs / 2)
  })

  suite.withMemory('interpreters keep their state in the children', 90_000, async (parent) => {
    await parent.runCode('x = 41')
    const slow = parent.runCode('import time\ntime.sleep(1)\nprint("printed")\ny = 7\ny')
    const { children } = await parent.fork(2, { memory: 'required' })
    await using copies = new Copies(children)
    expect(await slow).toMatchObject({ text: '7', stdout: 'printed\n' })
    for (const [index, child] of copies.all.entries()) {
      expect(await child.runCode(`z = x + ${index}\nz`)).toMatchObject({ text: String(41 + index), stdout: '' })
      expect(await child.runCode('y')).toMatchObject({ text: '7' })
    }
    expect((await parent.runCode('z')).error?.name).toBe('NameError')
    expect(await parent.runCode('x')).toMatchObject({ text: '41' })
  })

  suite.withMemory('interpreters draw other random numbers in each child', 90_000, async (parent) => {
    await parent.runCode('import random\nrandom.seed(1)')
    const node = (await parent.exec('command -v node')).exitCode === 0
    if (node) await parent.runCode('Math.random()', { language: 'javascript' })
    const { children } = await parent.fork(2, { memory: 'required' })
    await using copies = new Copies(children)
    const everybody = [parent, ...copies.all]
    const draw = async (sandbox: Sandbox): Promise<(string | null)[]> => [
      (await sandbox.runCode('random.random()')).text,
      node ? (await sandbox.runCode('Math.random()', { language: 'javascript' })).text : null,
    ]
    const drawn = await Promise.all(everybody.map(draw))
    for (const index of node ? [0, 1] : [0]) expect(new Set(drawn.map((numbers) => numbers[index])).size).toBe(3)
    expect(drawn.flat()).not.toContain(undefined)
    // Only a copy is told: a generator with a seed goes on in the parent as if nothing had been.
    expect(drawn[0]?.[0]).toBe('0.13436424411240122')
  })

  suite.withMemory('connections of the parent are reset in the child', 60_000, async (parent) => {
    await using server = await parent.spawn(['python3', '-c', ECHO])
    await readUntil(server.output[Symbol.asyncIterator](), 'listening')
    await using connection = await parent.port(7000).connect()
    const received = connection.data[Symbol.asyncIterator]()
    const echo = async (text: string): Promise<void> => {
      await connection.write(Buffer.from(text))
      const next = await received.next()
      expect(next.done === true ? null : Buffer.from(next.value).toString()).toBe(text)
    }
    await echo('before')
    await using copies = new Copies((await parent.fork(1, { memory: 'required' })).children)
    await echo('after')
    await eventually('its end is seen', async () => {
      return (await copies.first.files.readText('/tmp/srv/end').catch(() => '')) === 'reset'
    })
    await connection.end()
    await eventually('its end is seen', async () => {
      return (await parent.files.readText('/tmp/srv/end').catch(() => '')) === 'closed'
    })
  })

  suite.withMemory('a snapshot holds running programs after their sandbox is gone', 90_000, async (parent) => {
    await parent.spawn(['python3', '-c', COUNTER])
    await parent.runCode('kept = "kept"')
    await untilLog(parent, (log) => log.length > 5)
    const taken = await parent.snapshot({ memory: 'required' })
    expect(taken.memoryBytes).toBeGreaterThan(0)
    await parent.kill()
    try {
      await using later = await suite.options.create({ from: taken.id })
      const before = (await logOf(later)).length
      await untilLog(later, (log) => log.length > before + 3)
      expectUnbroken(await logOf(later))
      expect(await later.runCode('kept')).toMatchObject({ text: "'kept'" })
      await using filesOnly = await suite.options.create({ from: taken.id, memory: 'none' })
      expect(await filesOnly.processes()).toEqual([])
      expectUnbroken(await logOf(filesOnly))
    } finally {
      await suite.options.snapshots.remove(taken.id)
    }
  })
}
