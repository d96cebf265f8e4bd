import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RUNGS } from '@hearth/contract'
import type { Hearth, RemoteSandbox } from '@hearth/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** Programs in a sandbox that has a key of its own, with our clients as they are, on each rung. */

const root = join(import.meta.dirname, '..')
const TIMEOUT_MS = 400_000
let server: ApiProcess
let hearth: Hearth
let built: string
beforeAll(async () => {
  server = await ApiProcess.start()
  hearth = server.client({ retries: 8 })
  built = await mkdtemp(join(tmpdir(), 'hearth-inside-'))
  await promisify(execFile)(process.execPath, ['packages/sdk/scripts/build.ts', built], { cwd: root })
}, TIMEOUT_MS)
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(built, { recursive: true, force: true })
})

const PYTHON = `
import json, sys
sys.path.insert(0, "/tmp/python")
from hearth import Sandbox, HearthError
with Sandbox.create(rung="process", ttl_seconds=300) as child:
    child.files.write("/tmp/x", "from python")
    said = child.exec("cat /tmp/x").stdout
    listed = [each.id for each in Sandbox.list()] == [child.id]
print(json.dumps([said, listed, [each.id for each in Sandbox.list()]]))
`

/** Says in capitals what it is told; the first who comes only looks whether it is there. */
const ECHO = `
import socket
server = socket.create_server(("127.0.0.1", 8000))
while True:
    connection = server.accept()[0]
    try: connection.sendall(connection.recv(9).upper())
    except OSError: pass
    connection.close()
`

const NODE = `
import { Hearth } from '/tmp/sdk/index.js'
const hearth = new Hearth()
const child = await hearth.create({ rung: 'process', ttlMs: 300_000 })
let streamed = ''
for await (const { data } of (await child.spawn('for i in 1 2 3; do echo $i; sleep 0.1; done')).output) streamed += Buffer.from(data)
const terminal = await child.spawn(['sh', '-c', 'stty size; read line; echo "got $line"'], { pty: { rows: 24, cols: 80 }, stdin: 'pipe' })
await terminal.write('typed\\r')
let shown = ''
for await (const { data } of terminal.output) shown += Buffer.from(data)
await child.spawn(['python3', '-c', ${JSON.stringify(ECHO)}])
await child.port(8000).ready()
const connection = await child.port(8000).connect()
await connection.write(Buffer.from('web'))
let echoed = ''
for await (const data of connection.data) echoed += Buffer.from(data)
await connection.close()
await child.kill()
console.log(JSON.stringify([streamed, /24 80/.test(shown) && /got typed/.test(shown), echoed]))
`

const CURL = 'curl -sS -m 60 -H "authorization: Bearer $HEARTH_API_KEY"'

async function put(sandbox: RemoteSandbox, from: string, to: string): Promise<void> {
  const { stdout } = await promisify(execFile)('tar', ['-C', from, '-c', '.'], {
    encoding: 'buffer',
    maxBuffer: 2 ** 26,
  })
  await sandbox.files.write('/tmp/put.tar', stdout)
  const unpack = `mkdir -p ${to} && tar -x --no-same-owner -C ${to} -f /tmp/put.tar`
  expect(await sandbox.exec(unpack)).toMatchObject({ exitCode: 0 })
}

async function say(sandbox: RemoteSandbox, command: string[] | string): Promise<unknown> {
  const { stdout, stderr, exitCode } = await sandbox.exec(command, { timeoutMs: 120_000 })
  expect([exitCode, stderr], stdout).toEqual([0, ''])
  return JSON.parse(stdout) as unknown
}

const listed = async (sandbox: RemoteSandbox): Promise<unknown> =>
  await say(sandbox, `${CURL} $HEARTH_URL/v1/sandboxes`)

const wanted = process.env['HEARTH_RUNGS']?.split(',') ?? RUNGS
for (const rung of RUNGS.filter((each) => each !== 'simulated' && wanted.includes(each))) {
  describe(rung, () => {
    test('curl and the clients for Python and Node work as they are', { timeout: TIMEOUT_MS }, async (context) => {
      const sandbox = await made(rung, context)
      await put(sandbox, join(root, 'sdk/python'), '/tmp/python')
      expect(await listed(sandbox)).toEqual({ items: [], next: null })
      expect(await say(sandbox, ['python3', '-c', PYTHON])).toEqual(['from python', true, []])
      const { stdout } = await sandbox.exec('node --version')
      // The client needs Node 20; Debian has an older one.
      if (Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 0) >= 20) {
        await put(sandbox, built, '/tmp/sdk')
        await sandbox.files.write('/tmp/sdk/try.mjs', NODE)
        const flags = /^v2[01]\./.test(stdout) ? ['--experimental-websocket', '--no-warnings'] : []
        expect(await say(sandbox, ['node', ...flags, '/tmp/sdk/try.mjs'])).toEqual(['1\n2\n3\n', true, 'WEB'])
      }
      await sandbox.kill()
      expect((await hearth.page()).items.filter(({ state }) => state === 'running')).toEqual([])
    })

    test(
      'it outlives pauses, sleep and a server that is killed; copies have nothing of it',
      { timeout: TIMEOUT_MS },
      async (context) => {
        const sandbox = await made(rung, context)
        const child = (await say(sandbox, post('{"rung":"process"}'))) as { id: string }
        const mine = { items: [expect.objectContaining({ id: child.id })], next: null }
        // One that runs all the time, and says each time what it was answered.
        await sandbox.spawn(
          `while :; do ${CURL} -o /dev/null -w '%{http_code}\\n' $HEARTH_URL/v1/sandboxes >> /tmp/seen 2> /tmp/problems; sleep 0.2; done`,
        )
        await sandbox.pause()
        await sandbox.resume()
        expect(await listed(sandbox)).toEqual(mine)
        await server.kill()
        await server.start()
        await expect.poll(async () => await listed(sandbox).catch(() => null), { timeout: 30_000 }).toEqual(mine)
        const { children, memory } = await sandbox.fork(1)
        const [copy] = children
        if (copy === undefined) throw new Error('no copy')
        expect((await copy.exec('env')).stdout).not.toContain('HEARTH_')
        expect(await copy.exec('curl -s -m 5 http://hearth.internal/health')).toMatchObject({ exitCode: 6 })
        if (memory) {
          await copy.exec(': > /tmp/seen; sleep 1.5')
          expect(await copy.files.readText('/tmp/seen')).not.toContain('200')
        }
        await copy.kill()
        await sandbox.hibernate()
        expect(await listed(sandbox)).toEqual(mine)
        expect(await sandbox.files.readText('/tmp/seen')).toContain('200')
        await sandbox.kill()
        await expect(hearth.get(child.id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
      },
    )
  })
}

const post = (json: string): string =>
  `${CURL} -X POST -H 'content-type: application/json' -d '${json}' $HEARTH_URL/v1/sandboxes`

type Skipping = { skip(reason: string): void }

async function made(rung: (typeof RUNGS)[number], context: Skipping): Promise<RemoteSandbox> {
  const [report] = (await hearth.rungs()).filter((each) => each.rung === rung && each.probe.available)
  if (report?.probe.available !== true) {
    context.skip(`the rung ${rung} does not work here`)
    throw new Error('skipped')
  }
  const template = report.probe.capabilities.hostTemplate ? 'host' : 'debian'
  return await hearth.create({ rung, template, delegate: { children: 2 }, ttlMs: 600_000 })
}

test('a machine that waited is as any other', { timeout: TIMEOUT_MS }, async () => {
  await using pooled = await ApiProcess.start({ pool: true })
  const client = pooled.client()
  // The first is asked for, so that the second is there.
  for (let round = 0; round < 3; round++) {
    await using sandbox = await client.create({ rung: 'process', template: 'host', delegate: {} })
    expect(await listed(sandbox)).toEqual({ items: [], next: null })
    await using plain = await client.create({ rung: 'process', template: 'host' })
    expect(await plain.exec('curl -s -m 5 http://hearth.internal/health')).toMatchObject({ exitCode: 6 })
  }
})

test(
  'a server that is killed while a sandbox with a key is made leaves nothing of either',
  { timeout: TIMEOUT_MS },
  async () => {
    const bound = async (): Promise<(string | null)[]> =>
      (await hearth.keys.list()).filter(({ revokedAt }) => revokedAt === null).map(({ sandbox }) => sandbox)
    const before = await bound()
    const creating = Array.from({ length: 4 }, async () => {
      await hearth
        .create({ rung: 'process', template: 'host', delegate: {}, metadata: { kind: 'killed' } })
        .catch(() => null)
    })
    await new Promise((resolve) => setTimeout(resolve, 60))
    await server.kill()
    await server.start()
    await Promise.all(creating)
    const alive = (await hearth.page({ metadata: { kind: 'killed' } })).items.map(({ id }) => id)
    expect(new Set((await bound()).filter((id) => !before.includes(id)))).toEqual(new Set(alive))
    for (const id of alive) expect(await listed(await hearth.get(id))).toEqual({ items: [], next: null })
    for (const id of alive) await (await hearth.get(id)).kill()
  },
)
