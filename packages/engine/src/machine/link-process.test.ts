import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { collect, spec } from './process-helpers.ts'
import { startGuest, type TestGuest } from './test-guest.ts'
import type { ProcessSpec } from './machine.ts'

let guest: TestGuest
beforeAll(async () => {
  guest = await startGuest({ oomKills: () => oomKills })
}, 120_000)
afterAll(async () => {
  await guest.machine.kill()
})
let oomKills = 0

async function run(command: ProcessSpec['command'], more: Partial<ProcessSpec> = {}) {
  const process = await guest.machine.spawn(spec(command, more))
  const output = await collect(process)
  return { ...output, ...(await process.wait()) }
}

describe('a command', () => {
  test('its streams, its code and its times', async () => {
    const result = await run('echo out; echo err >&2; exit 3')
    expect(result).toMatchObject({
      stdout: 'out\n',
      stderr: 'err\n',
      exitCode: 3,
      signal: null,
      timedOut: false,
      oom: false,
    })
    expect(result.durationMs).toBeGreaterThan(0)
  })

  test('an argument vector, environment, directory and unicode', async () => {
    const result = await run(['/bin/sh', '-c', 'printf %s "$GREETING $1"; pwd', 'sh', 'ünï 🔥'], {
      env: { GREETING: 'grüß' },
      cwd: '/usr',
    })
    expect(result.stdout).toBe('grüß ünï 🔥/usr\n')
  })

  test('merged output keeps its order', async () => {
    expect((await run('for i in 1 2 3; do echo o$i; echo e$i >&2; done', { mergeOutput: true })).stdout).toBe(
      'o1\ne1\no2\ne2\no3\ne3\n',
    )
  })

  test('a signal', async () => {
    expect(await run('kill -SEGV $$')).toMatchObject({ exitCode: null, signal: 'SIGSEGV' })
  })

  test('what does not exist', async () => {
    await expect(guest.machine.spawn(spec(['/no/such/program']))).rejects.toMatchObject({ code: 'spawn_failed' })
    await expect(guest.machine.spawn(spec('true', { cwd: '/no/such' }))).rejects.toMatchObject({ code: 'spawn_failed' })
    await expect(guest.machine.spawn(spec('true', { user: 'nobody-here' }))).rejects.toMatchObject({
      code: 'spawn_failed',
    })
  })

  test('a timeout keeps the output and kills what has detached itself', async () => {
    const started = performance.now()
    const result = await run('echo before; setsid sleep 1234.5 & sleep 1234.5', { timeoutMs: 300 })
    expect(result).toMatchObject({ stdout: 'before\n', timedOut: true, signal: 'SIGKILL' })
    expect(performance.now() - started).toBeLessThan(5000)
    expect((await run(`pgrep -f '^sleep 1234.5' | wc -l`)).stdout.trim()).toBe('0')
  })

  test('two hundred at once', async () => {
    const results = await Promise.all(Array.from({ length: 200 }, (_, index) => run(`echo ${index}`)))
    expect(results.map((result) => result.stdout.trim())).toEqual(results.map((_, index) => String(index)))
  }, 60_000)
})

describe('output', () => {
  test('ten megabytes arrive whole and in order', async () => {
    const process = await guest.machine.spawn(spec('head -c 10000000 /dev/zero; printf end'))
    let offset = 0
    let last: Uint8Array = new Uint8Array(0)
    for await (const chunk of process.output) {
      expect(chunk.offset).toBe(offset)
      expect(chunk.dropped).toBe(0)
      offset += chunk.data.length
      last = chunk.data
    }
    expect(offset).toBe(10_000_003)
    expect(Buffer.from(last.subarray(-3)).toString()).toBe('end')
    expect((await process.wait()).exitCode).toBe(0)
  })

  test('a reader that does not take makes only its own process wait', async () => {
    const process = await guest.machine.spawn(spec('yes'))
    await sleep(200)
    const before = (await guest.machine.processes()).find((info) => info.id === process.id)
    await sleep(200)
    const after = (await guest.machine.processes()).find((info) => info.id === process.id)
    expect(after?.outputBytes).toBe(before?.outputBytes)
    expect((await run('echo free')).stdout).toBe('free\n')
    await process[Symbol.asyncDispose]()
  })

  test('wait without a reader discards it', async () => {
    const process = await guest.machine.spawn(spec('head -c 5000000 /dev/zero'))
    expect((await process.wait()).exitCode).toBe(0)
  })

  test('wait before reading, in the same turn, loses nothing', async () => {
    const process = await guest.machine.spawn(spec('echo kept'))
    const exit = process.wait()
    expect((await collect(process)).stdout).toBe('kept\n')
    expect((await exit).exitCode).toBe(0)
  })

  test('a reader that goes away does not hold it up', async () => {
    const process = await guest.machine.spawn(spec('head -c 5000000 /dev/zero'))
    for await (const chunk of process.output) if (chunk.data.length > 0) break
    expect((await process.wait()).exitCode).toBe(0)
  })
})

describe('standard input', () => {
  test('bytes in, end of file, bytes out', async () => {
    const process = await guest.machine.spawn(spec(['cat'], { stdin: 'pipe' }))
    const input = 'x'.repeat(1_000_000)
    const output = collect(process)
    await process.write(input)
    await process.write(new TextEncoder().encode('ende'))
    await process.closeStdin()
    expect((await output).stdout).toBe(`${input}ende`)
    expect((await process.wait()).exitCode).toBe(0)
    await expect(process.write('late')).rejects.toMatchObject({ code: 'process_not_found' })
  })

  test('a process that does not read does not hang the writer for ever', async () => {
    const process = await guest.machine.spawn(spec('exec sleep 0.3', { stdin: 'pipe' }))
    const written = process.write(new Uint8Array(4_000_000)).catch((error: unknown) => error)
    expect((await process.wait()).exitCode).toBe(0)
    await written
    await expect(process.write('late')).rejects.toMatchObject({ code: 'process_not_found' })
  })

  test('without one there is an end of file at once, and writing is refused', async () => {
    const process = await guest.machine.spawn(spec(['cat']))
    await expect(process.write('x')).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await process.wait()).exitCode).toBe(0)
  })
})

describe('signals and the end', () => {
  test('a named signal, and one that does not exist', async () => {
    const process = await guest.machine.spawn(spec(`trap 'echo got; exit 7' USR1; echo ready; sleep 60 & wait`))
    const iterator = process.output[Symbol.asyncIterator]()
    await iterator.next()
    await process.signal('SIGUSR1')
    expect(Buffer.from(((await iterator.next()).value as { data: Uint8Array }).data).toString()).toBe('got\n')
    await expect(process.signal('SIGNOPE')).rejects.toMatchObject({ code: 'invalid_request' })
    expect((await iterator.next()).done).toBe(true)
    expect((await process.wait()).exitCode).toBe(7)
  })

  test('kill takes the whole tree and may be repeated', async () => {
    const process = await guest.machine.spawn(spec('setsid sleep 2345.6 & sleep 2345.6'))
    await process.kill()
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL' })
    await process.kill()
    expect((await run(`pgrep -f '^sleep 2345.6' | wc -l`)).stdout.trim()).toBe('0')
  })

  test('an abort kills, and everybody hears of it', async () => {
    const controller = new AbortController()
    const process = await guest.machine.spawn(spec('echo first; sleep 3456.7'), controller.signal)
    const reading = collect(process)
    const waiting = process.wait()
    await sleep(50)
    controller.abort()
    await expect(reading).rejects.toMatchObject({ code: 'aborted' })
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' })
    expect((await run(`pgrep -f '^sleep 3456.7' | wc -l`)).stdout.trim()).toBe('0')
    await expect(guest.machine.spawn(spec('true'), controller.signal)).rejects.toMatchObject({ code: 'aborted' })
  })

  test('an abort before the process is known kills it as soon as it is', async () => {
    const controller = new AbortController()
    const starting = guest.machine.spawn(spec('sleep 4567.8'), controller.signal)
    controller.abort()
    await expect(starting).rejects.toMatchObject({ code: 'aborted' })
    await sleep(200)
    expect((await run(`pgrep -f '^sleep 4567.8' | wc -l`)).stdout.trim()).toBe('0')
  })

  test('a kill for memory is told from any other by the counter of the host', async () => {
    expect(await run('kill -KILL $$')).toMatchObject({ signal: 'SIGKILL', oom: false })
    const process = await guest.machine.spawn(spec('sleep 0.1; kill -KILL $$'))
    oomKills++
    expect(await process.wait()).toMatchObject({ signal: 'SIGKILL', oom: true })
    expect((await guest.machine.processes()).find((info) => info.id === process.id)?.exit?.oom).toBe(true)
    expect(await run('kill -KILL $$')).toMatchObject({ signal: 'SIGKILL', oom: false })
  })
})

describe('terminals', () => {
  test('a size, a new size, and typed input', async () => {
    const process = await guest.machine.spawn(
      spec('stty size; read line; echo "got $line"; stty size', { pty: { rows: 24, cols: 80 } }),
    )
    const output = collect(process)
    await sleep(200)
    await process.resize({ rows: 40, cols: 120 })
    await process.write('hello\n')
    expect((await output).stdout.replaceAll('\r', '')).toBe('24 80\nhello\ngot hello\n40 120\n')
    await expect(process.resize({ rows: 0, cols: 1 })).rejects.toMatchObject({ code: 'invalid_request' })
  })
})

test('the death of the guest ends what was under way', async () => {
  const other = await startGuest()
  const process = await other.machine.spawn(spec('sleep 60'))
  const waiting = process.wait().catch((error: unknown) => error)
  other.child.kill('SIGKILL')
  expect(HearthError.isInstance(await waiting) && (await waiting)).toMatchObject({ code: 'link_lost' })
  expect(await other.machine.ended).toMatchObject({ reason: 'exited' })
})
