import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { SandboxView } from '@hearth/contract'
import { allEvents, outputText, readEvents } from './testing/events.ts'
import { TestServer } from './testing/test-server.ts'

let server: TestServer
let sandbox: SandboxView
let base: string

beforeAll(async () => {
  server = await TestServer.start({ patienceMs: 300, pingMs: 150 })
  sandbox = await server.sandbox()
  base = `/v1/sandboxes/${sandbox.id}`
})
afterAll(() => server[Symbol.asyncDispose]())

describe('exec', () => {
  it('answers with output, exit and times', async () => {
    const result = await server.json('POST', `${base}/exec`, {
      json: { command: 'echo out; echo err >&2; cat; exit 3', input: Buffer.from('given').toString('base64') },
    })
    expect(result).toMatchObject({
      exitCode: 3,
      signal: null,
      stdout: 'out\ngiven',
      stderr: 'err\n',
      truncated: false,
      timedOut: false,
    })
    expect(result).not.toHaveProperty('stdoutBase64')
  })

  it('gives bytes as base64 only where they are no text', async () => {
    const result = await server.json<{ stdoutBase64: string }>('POST', `${base}/exec`, {
      json: { command: "printf '\\377\\000x'" },
    })
    expect(Buffer.from(result.stdoutBase64, 'base64')).toEqual(Buffer.from([255, 0, 120]))
    expect(result).not.toHaveProperty('stderrBase64')
  })

  it('bounds the output, and says so', async () => {
    const result = await server.json('POST', `${base}/exec`, { json: { command: ['seq', '1000'], maxOutputBytes: 10 } })
    expect(result).toMatchObject({ stdout: '1\n2\n3\n4\n5\n', truncated: true, totalOutputBytes: 3893 })
  })

  it('sends its status before a late answer', async () => {
    const late = await server.call('POST', `${base}/exec`, { json: { command: 'sleep 0.8; echo late' } })
    const text = await late.text()
    expect(late.status).toBe(200)
    expect(text.startsWith(' ')).toBe(true)
    expect(JSON.parse(text)).toMatchObject({ stdout: 'late\n' })
  })

  it('sends an error that comes after the status in the body', async () => {
    const { id } = await server.sandbox()
    const late = await server.call('POST', `/v1/sandboxes/${id}/exec`, { json: { command: 'sleep 100' } })
    expect(late.status).toBe(200)
    await server.json('POST', `/v1/sandboxes/${id}/stop`)
    expect(await late.json()).toMatchObject({ error: { code: 'sandbox_ended', requestId: expect.any(String) } })
  })

  it('names the command before its answer to a client that asks for it', async () => {
    const began = performance.now()
    const early = await server.call('POST', `${base}/exec`, {
      json: { command: 'sleep 5; echo early' },
      headers: { prefer: 'process' },
    })
    expect(performance.now() - began).toBeLessThan(4000)
    const process = Number(early.headers.get('x-hearth-process'))
    expect((await listed(/sleep 5/)).map(({ id }) => id)).toEqual([process])
    expect(await early.json()).toMatchObject({ stdout: 'early\n' })
  })

  it('gives so much output in one answer, and waits so long before it names the command', async () => {
    await using bounded = await TestServer.start({ answerBytes: 1000, processHeaderMs: 500 })
    const { id } = await bounded.sandbox()
    const exec = `/v1/sandboxes/${id}/exec`
    const large = await bounded.json<{ stdout: string }>('POST', exec, {
      json: { command: 'yes | head -c 5000', maxOutputBytes: 4000 },
    })
    expect(large).toMatchObject({ exitCode: 0, truncated: true })
    expect(large.stdout.length).toBeLessThanOrEqual(1000)
    const began = performance.now()
    const headers = { prefer: 'process' }
    const early = await bounded.call('POST', exec, { json: { command: 'sleep 4; echo early' }, headers })
    const after = performance.now() - began
    expect(await early.json()).toMatchObject({ stdout: 'early\n' })
    expect([after >= 450, after < 3500]).toEqual([true, true])
  })

  it('kills the command of a client that closes the connection', async () => {
    const abort = new AbortController()
    const call = server.call('POST', `${base}/exec`, {
      json: { command: 'echo > /tmp/began; sleep 300' },
      signal: abort.signal,
    })
    await expect.poll(async () => (await server.call('GET', `${base}/files/stat?path=/tmp/began`)).status).toBe(200)
    abort.abort()
    // The status may be there already when the machine is slow.
    await expect(call.then((answer) => answer.text())).rejects.toThrow('abort')
    await expect.poll(async () => await running(/sleep 300/)).toBe(0)
  })

  it('refuses what is no command with a typed error', async () => {
    expect(
      await server.refusal('POST', `${base}/exec`, { json: { command: '/no/such/thing', cwd: 'relative' } }),
    ).toMatchObject({
      status: 400,
      code: 'invalid_request',
    })
    expect(await server.refusal('POST', `${base}/exec`, { json: { command: ['/no/such/program'] } })).toMatchObject({
      code: 'spawn_failed',
    })
  })
})

describe('exec as a stream', () => {
  it('tells of the start, the output in order and the exit', async () => {
    const answer = await server.call('POST', `${base}/exec/stream`, {
      json: { command: 'echo one; echo two >&2; exit 4' },
    })
    expect(answer.headers.get('content-type')).toBe('text/event-stream')
    const events = await allEvents(answer)
    expect(events[0]).toMatchObject({ type: 'started', process: expect.any(Number) })
    expect(outputText(events)).toBe('one\ntwo\n')
    expect(events.at(-1)).toMatchObject({ type: 'exit', exit: { exitCode: 4 } })
  })

  it('makes a command wait for a client that does not read, and costs no memory', async () => {
    const answer = await server.call('POST', `${base}/exec/stream`, { json: { command: 'yes; true' } })
    const events = readEvents(answer)
    expect(await events.next()).toMatchObject({ value: { type: 'started' } })
    await new Promise((resolve) => setTimeout(resolve, 700))
    const before = await written(/yes/)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(await written(/yes/)).toBe(before)
    expect(before).toBeLessThan(32 * 1024 * 1024)
    await events.return()
    await expect.poll(async () => await running(/yes/)).toBe(0)
  })

  it('kills the whole tree of a client that goes away', async () => {
    const answer = await server.call('POST', `${base}/exec/stream`, {
      json: { command: 'setsid sleep 301 & echo up; wait' },
    })
    const events = readEvents(answer)
    await events.next()
    await events.next()
    await events.return()
    await expect.poll(async () => await running(/sleep 301/)).toBe(0)
    const { stdout } = await server.json<{ stdout: string }>('POST', `${base}/exec`, {
      json: { command: 'cat /proc/[0-9]*/cmdline | tr "\\0" " "' },
    })
    expect(stdout).not.toContain('sleep 301')
  })

  it('sends a comment while nothing happens', async () => {
    const answer = await server.call('POST', `${base}/exec/stream`, { json: { command: 'sleep 0.8' } })
    expect(await answer.text()).toContain(': ping\n\n')
  })
})

interface Listed {
  readonly id: number
  readonly command: string[]
  readonly exit: unknown
  readonly outputBytes: number
}

async function listed(command: RegExp): Promise<Listed[]> {
  const { items } = await server.json<{ items: Listed[] }>('GET', `${base}/processes`)
  return items.filter((item) => item.exit === null && command.test(item.command.join(' ')))
}

async function running(command: RegExp): Promise<number> {
  return (await listed(command)).length
}

async function written(command: RegExp): Promise<number> {
  return (await listed(command))[0]?.outputBytes ?? 0
}
