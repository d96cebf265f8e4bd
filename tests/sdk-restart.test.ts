import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OutputChunk, Process, WatchEvent } from '@hearth/contract'
import type { Hearth, HearthEvent, RemoteSandbox } from '@hearth/sdk'
import { ApiProcess } from './support/api-process.ts'

/** What a client sees of a server that goes away and comes back: nothing, and no command runs twice. */

let server: ApiProcess
let hearth: Hearth
beforeAll(async () => {
  server = await ApiProcess.start()
  hearth = server.client({ retries: 12 })
})
afterAll(async () => await server[Symbol.asyncDispose]())

const LINES = 150
const EXPECTED = Array.from({ length: LINES }, (_, index) => `line ${index + 1}\n`).join('')
const COUNT = `i=0; while [ $i -lt ${LINES} ]; do i=$((i+1)); echo "line $i"; sleep 0.03; done; exit 7`

async function create(): Promise<RemoteSandbox> {
  return await hearth.create({ rung: 'process', template: 'host' })
}

async function readAll(process: Process): Promise<{ text: string; chunks: OutputChunk[] }> {
  const chunks: OutputChunk[] = []
  for await (const chunk of process.output) chunks.push(chunk)
  return { text: Buffer.concat(chunks.map((chunk) => chunk.data)).toString(), chunks }
}

async function readUntil(iterator: AsyncIterator<OutputChunk>, wanted: string): Promise<void> {
  for (let seen = ''; !seen.includes(wanted);) {
    const next = await iterator.next()
    if (next.done === true) throw new Error(`the output ended before ${wanted}: ${seen}`)
    seen += Buffer.from(next.value.data).toString()
  }
}

async function pause(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds))
}

describe.each(['SIGKILL', 'SIGTERM'] as const)('a server that ends by %s and starts again', (signal) => {
  test('output goes on, each byte once', async () => {
    await using sandbox = await create()
    const process = await sandbox.spawn(COUNT)
    const reading = readAll(process)
    await pause(800)
    await server.kill(signal)
    await pause(300)
    await server.start()
    const { text, chunks } = await reading
    expect(text).toBe(EXPECTED)
    let position = 0
    for (const chunk of chunks) {
      expect(chunk).toMatchObject({ offset: position, dropped: 0 })
      position += chunk.data.length
    }
    expect(await process.wait()).toMatchObject({ exitCode: 7 })
  })

  test('a terminal goes on with the same handle', async () => {
    await using sandbox = await create()
    const shell = await sandbox.spawn(['sh', '-i'], {
      pty: { rows: 24, cols: 80 },
      stdin: 'pipe',
      env: { PS1: 'prompt> ' },
    })
    const iterator = shell.output[Symbol.asyncIterator]()
    await readUntil(iterator, 'prompt> ')
    await shell.write('state=kept\r')
    await readUntil(iterator, 'prompt> ')
    await server.kill(signal)
    await server.start()
    await shell.write('echo "is $state"\r')
    await readUntil(iterator, 'is kept')
    await shell.resize({ rows: 40, cols: 100 })
    await shell.write('stty size; exit 5\r')
    await readUntil(iterator, '40 100')
    expect(await shell.wait()).toMatchObject({ exitCode: 5 })
  })

  test('a watch goes on and says that changes may be missing, events miss none', async () => {
    await using sandbox = await create()
    await sandbox.files.makeDirectory('/tmp/watched')
    const changes: WatchEvent[] = []
    const watch = await sandbox.watch('/tmp/watched')
    const watching = (async () => {
      for await (const change of watch) changes.push(change)
    })()
    const events: HearthEvent[] = []
    const stop = new AbortController()
    const following = (async () => {
      for await (const event of hearth.events({ after: 0, signal: stop.signal })) events.push(event)
    })().catch(() => undefined)
    await sandbox.files.write('/tmp/watched/before', '')
    await expect.poll(() => changes.some((change) => change.path.endsWith('before')), { timeout: 10_000 }).toBe(true)
    await server.kill(signal)
    await server.start()
    await expect.poll(() => changes.some((change) => change.kind === 'overflow'), { timeout: 10_000 }).toBe(true)
    await sandbox.files.write('/tmp/watched/after', '')
    await expect.poll(() => changes.some((change) => change.path.endsWith('after')), { timeout: 10_000 }).toBe(true)
    await watch[Symbol.asyncDispose]()
    await watching
    await sandbox.kill()
    const { items } = await hearth.eventPage({ after: 0, limit: 1000 })
    await expect.poll(() => events.length, { timeout: 10_000 }).toBeGreaterThanOrEqual(items.length)
    stop.abort()
    await following
    expect(events.slice(0, items.length)).toEqual(items)
  })

  test('a command under way goes on to its end and is not repeated', async () => {
    await using sandbox = await create()
    const running = sandbox.exec('echo x | tee -a /tmp/ran; sleep 5; echo y | tee -a /tmp/ran; exit 3')
    await expect.poll(async () => await sandbox.files.exists('/tmp/ran'), { timeout: 10_000 }).toBe(true)
    // Its number is on its way by then.
    await pause(200)
    await server.kill(signal)
    await server.start()
    expect(await running).toMatchObject({ exitCode: 3, signal: null, stdout: 'x\ny\n', truncated: false })
    expect(await sandbox.files.readText('/tmp/ran')).toBe('x\ny\n')
  })

  test('what an interpreter knows is still known, also when a cell ran meanwhile', async () => {
    await using sandbox = await create()
    await sandbox.runCode('known = 40', { context: 'idle' })
    const running = sandbox.runCode("import time\ntime.sleep(3)\nprint('late')\nbusy = 2", { context: 'busy' })
    const answered = running.catch(() => null)
    await pause(1000)
    await server.kill(signal)
    await server.start()
    expect(await sandbox.runCode('known + 2', { context: 'idle' })).toMatchObject({ text: '42', stdout: '' })
    // It waits for the cell before it, whose output is not its own.
    expect(await sandbox.runCode('busy', { context: 'busy' })).toMatchObject({ text: '2', stdout: '' })
    await answered
    await server.kill(signal)
    await server.start()
    expect(await sandbox.runCode('known', { context: 'idle' })).toMatchObject({ text: '40' })
  })

  test('a create that is under way gives one sandbox', async () => {
    const metadata = { restart: signal }
    await server.kill(signal)
    const creating = hearth.create({ rung: 'process', template: 'host', metadata })
    await pause(100)
    await server.start()
    await using sandbox = await creating
    expect((await sandbox.exec('echo usable')).stdout).toBe('usable\n')
    expect((await hearth.page({ metadata })).items).toHaveLength(1)
  })
})
