import { once } from 'node:events'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OutputChunk, Process } from '@hearth/contract'
import type { RemoteSandbox } from '../index.ts'
import * as script from '../testing/scripted-server.fixture.ts'
import { EXIT, ID, output, STARTED } from '../testing/scripted-server.fixture.ts'

const SPAWN = `POST /sandboxes/${ID}/processes`
const OUTPUT = `GET /sandboxes/${ID}/processes/7/output`
const STDIN = `PUT /sandboxes/${ID}/processes/7/stdin`
const SIGNAL = `POST /sandboxes/${ID}/processes/7/signal`
const exited = { type: 'exit', exit: EXIT }

let server: script.ScriptedServer
let sandbox: RemoteSandbox
beforeEach(async () => {
  server = await script.ScriptedServer.listen()
  server.on(`GET /sandboxes/${ID}`, script.json(script.view())).on(SIGNAL, script.json({}))
  sandbox = await server.client().get(ID)
})
afterEach(async () => await server[Symbol.asyncDispose]())

async function read(process: Process): Promise<OutputChunk[]> {
  const chunks: OutputChunk[] = []
  for await (const chunk of process.output) chunks.push(chunk)
  return chunks
}

function text(chunks: readonly OutputChunk[]): string {
  return Buffer.concat(chunks.map((chunk) => chunk.data)).toString()
}

describe('output', () => {
  test('the answer of the start is the output', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'one\n'), output(4, 'two\n', 'stderr'), exited))
    const process = await sandbox.spawn(['echo'], { env: { A: 'b' }, stdin: 'pipe' })
    expect(process).toMatchObject({ id: 7, pid: 70 })
    const chunks = await read(process)
    expect(chunks.map(({ stream, offset, dropped }) => [stream, offset, dropped])).toEqual([
      ['stdout', 0, 0],
      ['stderr', 4, 0],
    ])
    expect(await process.wait()).toEqual(EXIT)
    const [request] = server.asked(SPAWN)
    expect(request?.headers).toMatchObject({ accept: 'text/event-stream', authorization: 'Bearer hearth_test' })
    expect(JSON.parse(request?.body.toString() ?? '')).toEqual({ command: ['echo'], env: { A: 'b' }, stdin: 'pipe' })
  })

  test('a stream that breaks is taken up where it broke, without a byte twice', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'abc')))
    server.on(
      OUTPUT,
      script.hangUp,
      script.failure(503, 'shutting_down', 'stopping', { retryable: true }),
      script.events(STARTED, output(1, 'bcde')),
      script.events(STARTED, { type: 'error', error: { code: 'shutting_down', message: 'x', retryable: true } }),
      script.events(STARTED, output(0, 'abcde'), output(5, 'f'), exited),
    )
    const process = await sandbox.spawn('x')
    const chunks = await read(process)
    expect(text(chunks)).toBe('abcdef')
    expect(chunks.map((chunk) => chunk.offset)).toEqual([0, 3, 5])
    expect(chunks.every((chunk) => chunk.dropped === 0)).toBe(true)
    expect(await process.wait()).toEqual(EXIT)
    expect(server.asked(OUTPUT).map((request) => request.query.get('offset'))).toEqual(['3', '3', '3', '5', '5'])
  })

  test('bytes that are gone are counted', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'abc')))
    server.on(OUTPUT, script.events(STARTED, output(10, 'k'), exited))
    const chunks = await read(await sandbox.spawn('x'))
    expect(chunks.map(({ offset, dropped }) => [offset, dropped])).toEqual([
      [0, 0],
      [10, 7],
    ])
  })

  test('however often it breaks, the output is the same', async () => {
    const whole = 'The quick brown fox jumps over the lazy dog'
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(6), { maxLength: 8 }),
        fc.array(fc.nat(4), { maxLength: 8 }),
        async (sizes, repeats) => {
          let broken = 0
          const piece: script.Reply = (request, response) => {
            const asked = Number(request.query.get('offset') ?? 0)
            const size = sizes[broken]
            const from = Math.max(0, asked - (repeats[broken] ?? 0))
            broken++
            const list = [STARTED, output(from, whole.slice(from, size === undefined ? whole.length : asked + size))]
            script.events(...list, ...(size === undefined ? [exited] : []))(request, response)
          }
          server.on(SPAWN, piece).on(OUTPUT, piece)
          expect(text(await read(await sandbox.spawn('x')))).toBe(whole)
        },
      ),
      { numRuns: 10 },
    )
  }, 60_000)

  test('it gives up when nothing comes for too long', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'abc'))).on(OUTPUT, script.hangUp)
    const impatient = await server.client({ reconnectMs: 200, retries: 0 }).get(ID)
    const process = await impatient.spawn('x')
    const iterator = process.output[Symbol.asyncIterator]()
    expect((await iterator.next()).value).toMatchObject({ offset: 0 })
    await expect(iterator.next()).rejects.toMatchObject({ code: 'link_lost' })
    await expect(process.wait()).rejects.toMatchObject({ code: 'link_lost' })
  })

  test('an error that does not pass ends it at once', async () => {
    server.on(SPAWN, script.events(STARTED)).on(OUTPUT, script.failure(404, 'process_not_found', 'gone'))
    await expect(read(await sandbox.spawn('x'))).rejects.toMatchObject({ code: 'process_not_found' })
    server.on(SPAWN, script.events(STARTED, { type: 'error', error: { code: 'sandbox_not_found', message: 'x' } }))
    await expect((await sandbox.spawn('x')).wait()).rejects.toMatchObject({ code: 'sandbox_ended' })
    expect(sandbox.info.state).toBe('ended')
  })

  test('streams that are none', async () => {
    for (const list of [[], [exited], [{ type: 'started', process: 'x', pid: 1 }]]) {
      server.on(SPAWN, script.events(...list))
      await expect(sandbox.spawn('x')).rejects.toMatchObject({
        code: list.length === 0 ? 'link_lost' : 'protocol_violation',
      })
    }
    server.on(SPAWN, (_, response) => void response.writeHead(200).end('data: {"type"\n\n'))
    await expect(sandbox.spawn('x')).rejects.toMatchObject({ code: 'protocol_violation' })
    server.on(SPAWN, script.events(STARTED, { type: 'output', stream: 'stdout', offset: -1, data: '' }))
    await expect(read(await sandbox.spawn('x'))).rejects.toMatchObject({ code: 'protocol_violation' })
    server.on(SPAWN, script.events(STARTED)).on(OUTPUT, script.events({ ...STARTED, process: 8 }, exited))
    await expect(read(await sandbox.spawn('x'))).rejects.toMatchObject({ code: 'protocol_violation' })
  })

  test('who does not read makes the server wait', async () => {
    let written = 0
    server.on(SPAWN, async (_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`data: ${JSON.stringify(STARTED)}\n\n`)
      const data = 'x'.repeat(48 * 1024)
      while (written < 1000 && !response.destroyed) {
        const more = response.write(`data: ${JSON.stringify(output(written * data.length, data))}\n\n`)
        written++
        if (!more) await once(response, 'drain')
      }
      response.end(`data: ${JSON.stringify(exited)}\n\n`)
    })
    const process = await sandbox.spawn('x')
    await new Promise((resolve) => setTimeout(resolve, 300))
    const before = written
    expect(before).toBeLessThan(500)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(written).toBe(before)
    let bytes = 0
    for await (const chunk of process.output) bytes += chunk.data.length
    expect(bytes).toBe(1000 * 48 * 1024)
  })
})

describe('the end', () => {
  test('wait without a reader throws the output away', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'a'), output(1, 'b'), output(2, 'c'), exited))
    const process = await sandbox.spawn('x')
    expect(await process.wait()).toEqual(EXIT)
    expect(await process.wait()).toEqual(EXIT)
    expect(await read(process)).toEqual([])
  })

  test('a reader that stops, or has read all, does not keep wait from its end', async () => {
    server.on(SPAWN, script.events(STARTED, output(0, 'a'), output(1, 'b'), exited))
    const stopped = await sandbox.spawn('x')
    for await (const chunk of stopped.output) {
      expect(chunk.offset).toBe(0)
      break
    }
    expect(await stopped.wait()).toEqual(EXIT)
    const complete = await sandbox.spawn('x')
    const iterator = complete.output[Symbol.asyncIterator]()
    await iterator.next()
    await iterator.next()
    expect(await complete.wait()).toEqual(EXIT)
  })

  test('detach closes the stream and leaves the process', async () => {
    let closed = false
    server.on(SPAWN, async (request, response) => {
      script.openEvents(STARTED, output(0, 'a'))(request, response)
      await once(response, 'close')
      closed = true
    })
    const process = await sandbox.spawn('x')
    const waiting = process.wait().catch((error: unknown) => error)
    const iterator = process.output[Symbol.asyncIterator]()
    await iterator.next()
    const pending = iterator.next()
    await process.detach()
    expect((await pending).done).toBe(true)
    expect(await waiting).toMatchObject({ code: 'aborted' })
    await expect.poll(() => closed).toBe(true)
    expect(server.asked(SIGNAL)).toEqual([])
  })

  test('the signal of a spawn kills the tree, before and after it has begun', async () => {
    server.on(SPAWN, script.openEvents(STARTED))
    const controller = new AbortController()
    const process = await sandbox.spawn('x', { signal: controller.signal })
    controller.abort()
    await expect(read(process)).rejects.toMatchObject({ code: 'aborted' })
    await expect(process.wait()).rejects.toMatchObject({ code: 'aborted' })
    expect(JSON.parse(server.asked(SIGNAL)[0]?.body.toString() ?? '')).toEqual({ signal: 'SIGKILL', tree: true })

    server.on(SPAWN, async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 100))
      script.openEvents(STARTED)(request, response)
    })
    await expect(sandbox.spawn('x', { signal: AbortSignal.timeout(30) })).rejects.toMatchObject({ code: 'aborted' })
    await expect.poll(() => server.asked(SIGNAL).length).toBe(2)
    await expect(sandbox.spawn('x', { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
    expect(server.asked(SPAWN)).toHaveLength(2)
  })

  test('the signal of an attach lets go', async () => {
    server.on(OUTPUT, script.openEvents(STARTED, output(5, 'f')))
    const controller = new AbortController()
    const process = await sandbox.attach(7, { offset: 1_000_000, signal: controller.signal })
    const iterator = process.output[Symbol.asyncIterator]()
    // The reader asked for more than there was: it begins at the end.
    expect((await iterator.next()).value).toMatchObject({ offset: 5, dropped: 0 })
    controller.abort()
    await expect(iterator.next()).rejects.toMatchObject({ code: 'aborted' })
    expect(server.asked(SIGNAL)).toEqual([])
    for (const [id, offset] of [
      [0, 0],
      [1.5, 0],
      [7, -1],
    ] as const) {
      await expect(sandbox.attach(id, { offset })).rejects.toMatchObject({ code: 'invalid_request' })
    }
  })

  test('disposal kills what runs', async () => {
    server.on(SPAWN, script.openEvents(STARTED))
    {
      await using process = await sandbox.spawn('x')
      expect(process.id).toBe(7)
    }
    expect(server.asked(SIGNAL)).toHaveLength(1)
  })
})

describe('input', () => {
  test('writes keep their order in few requests, then comes the end', async () => {
    server.on(SPAWN, script.openEvents(STARTED)).on(STDIN, async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      script.json({})(request, response)
    })
    await using process = await sandbox.spawn('cat', { stdin: 'pipe' })
    await Promise.all(Array.from({ length: 200 }, async (_, index) => await process.write(`${index},`)))
    await Promise.all([process.write('last'), process.closeStdin()])
    await process.closeStdin()
    const requests = server.asked(STDIN)
    const expected = `${Array.from({ length: 200 }, (_, index) => `${index},`).join('')}last`
    expect(Buffer.concat(requests.map((request) => request.body)).toString()).toBe(expected)
    expect(requests.length).toBeLessThan(10)
    expect(requests.map((request) => request.query.get('eof')).filter(Boolean)).toEqual(['true'])
    await expect(process.write('late')).rejects.toMatchObject({ code: 'process_not_found' })
  })

  test('a write that fails is told to its caller, and detaching ends those under way', async () => {
    server
      .on(SPAWN, script.openEvents(STARTED))
      .on(STDIN, script.failure(404, 'process_not_found', 'ended'), script.silence)
    const process = await sandbox.spawn('cat', { stdin: 'pipe' })
    await expect(process.write('a')).rejects.toMatchObject({ code: 'process_not_found' })
    const stuck = process.write('b').catch((error: unknown) => error)
    await expect.poll(() => server.asked(STDIN).length).toBe(2)
    await process.detach()
    expect(await stuck).toMatchObject({ code: 'aborted' })
    await expect(process.write(5 as unknown as string)).rejects.toMatchObject({ code: 'process_not_found' })
  })
})
