import { HearthError, type Rung } from '@hearth/contract'
import { Sandbox as PandaSandbox } from '@pandastack/sdk'
import { Sandbox } from '@e2b/code-interpreter'
import { afterAll, describe, expect, test } from 'vitest'
import { ApiProcess } from './support/api-process.ts'

/** What clients of other vendors find when the server was killed and has started again. */

const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')
const server = await ApiProcess.start({ dialects: ['e2b', 'pandastack'] })
afterAll(() => server[Symbol.asyncDispose]())

async function has(rung: string): Promise<boolean> {
  const made = await server
    .client()
    .create({ rung: rung as Rung, template: 'host' })
    .catch((error: unknown) => {
      if (HearthError.isInstance(error) && error.code === 'rung_unavailable') return null
      throw error
    })
  await made?.kill()
  return made !== null
}

/** Its dialects listen elsewhere then. */
async function killed(): Promise<void> {
  await server.kill('SIGKILL')
  await server.start()
  point()
}

function point(): void {
  const url = server.dialectUrl('e2b')
  Object.assign(process.env, { E2B_API_URL: url, E2B_SANDBOX_URL: url, E2B_API_KEY: server.key })
  Object.assign(process.env, { PANDASTACK_API: server.dialectUrl('pandastack'), PANDASTACK_API_KEY: server.key })
}
point()

describe.each(RUNGS)('on %s', (rung) => {
  test('terminals, tags and contexts outlive a server that was killed', { timeout: 120_000 }, async (task) => {
    if (!(await has(rung))) return task.skip(`${rung} does not work here`)
    let sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': rung } })
    const { pid } = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => undefined })
    const own = await sandbox.createCodeContext({ language: 'python', cwd: '/tmp' })
    expect((await sandbox.runCode("import os\nos.chdir('/usr')\nkept = 41", { context: own })).error).toBeUndefined()
    await sandbox.runCode("import os\nos.chdir('/var')\nwhere = 'default'")
    const fresh = await sandbox.createCodeContext({ language: 'bash' })
    await sandbox.files.write('/tmp/described', 'x', { metadata: { kind: 'kept' } })
    const gone = await sandbox.createCodeContext({ language: 'python' })
    await sandbox.removeCodeContext(gone)
    await killed()
    sandbox = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
    expect((await sandbox.files.getInfo('/tmp/described')).metadata).toEqual({ kind: 'kept' })
    const shown: string[] = []
    const terminal = await sandbox.pty.connect(pid, { onData: (data) => void shown.push(Buffer.from(data).toString()) })
    await sandbox.pty.sendInput(pid, Buffer.from('echo it-is-$((40 + 2))\r'))
    await expect.poll(() => shown.join(''), { timeout: 10_000 }).toContain('it-is-42')
    await terminal.kill()
    const contexts = (await sandbox.listCodeContexts()).map(({ id }) => id)
    expect(contexts).toEqual(expect.arrayContaining(['python', 'javascript', own.id, fresh.id]))
    expect(contexts).not.toContain(gone.id)
    expect((await sandbox.runCode('(kept + 1, os.getcwd())', { context: own })).text).toBe("(42, '/usr')")
    expect((await sandbox.runCode('(where, os.getcwd())')).text).toBe("('default', '/var')")
    expect((await sandbox.runCode('echo here', { context: fresh })).logs.stdout).toEqual(['here\n'])
    // It ended with its server, and a context whose interpreter is new begins in its directory.
    await sandbox.restartCodeContext(own.id)
    await killed()
    sandbox = await Sandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
    expect((await sandbox.runCode('import os\nos.getcwd()', { context: own })).text).toBe('/tmp')
    await sandbox.kill()
  })
})

test('a tag finds its process, and says nothing about another', { timeout: 60_000 }, async () => {
  const sandbox = await Sandbox.create('host', { metadata: { 'hearth.rung': 'process' } })
  const call = async (method: string, body: object): Promise<{ status: number; json: Record<string, unknown> }> => {
    const answer = await fetch(`${server.dialectUrl('e2b')}/process.Process/${method}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'e2b-sandbox-id': sandbox.sandboxId,
        'e2b-sandbox-port': '49983',
        'x-access-token': await token(sandbox.sandboxId),
      },
      body: JSON.stringify(body),
    })
    return { status: answer.status, json: (await answer.json()) as Record<string, unknown> }
  }
  const started = await start(sandbox.sandboxId, { process: { cmd: '/bin/sleep', args: ['60'] }, tag: 'named' })
  expect(started).toBe(200)
  await killed()
  expect((await call('List', {})).json).toMatchObject({ processes: [{ tag: 'named', config: { cmd: '/bin/sleep' } }] })
  expect((await call('SendSignal', { process: { tag: 'other' }, signal: 'SIGNAL_SIGKILL' })).status).toBe(404)
  expect((await call('SendSignal', { process: { tag: 'named' }, signal: 'SIGNAL_SIGKILL' })).status).toBe(200)
  await expect.poll(async () => (await call('List', {})).json['processes'] ?? []).toEqual([])
  expect(await start(sandbox.sandboxId, { process: { cmd: '/bin/true' }, tag: 'x'.repeat(1025) })).toBe(400)
})

test("PandaStack's sessions outlive a server that was killed", { timeout: 60_000 }, async () => {
  const sandbox = await PandaSandbox.create({ template: 'base', metadata: { 'hearth.rung': 'process' } })
  const context = await sandbox.createCodeContext('python')
  await context.runCode('kept = 41')
  await killed()
  const answer = await fetch(
    `${server.dialectUrl('pandastack')}/v1/sandboxes/${sandbox.id}/repl/sessions/${context.id}/run`,
    {
      method: 'POST',
      headers: { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ code: 'kept + 1' }),
    },
  )
  expect(await answer.json()).toMatchObject({ results: [{ 'text/plain': '42' }] })
})

async function token(id: string): Promise<string> {
  const answer = await fetch(`${server.dialectUrl('e2b')}/sandboxes/${id}`, { headers: { 'x-api-key': server.key } })
  return ((await answer.json()) as { envdAccessToken: string }).envdAccessToken
}

/** The status of the first frame of a process that is started, after which nobody follows it. */
async function start(id: string, request: object): Promise<number> {
  const message = Buffer.from(JSON.stringify(request))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const answer = await fetch(`${server.dialectUrl('e2b')}/process.Process/Start`, {
    method: 'POST',
    headers: {
      'content-type': 'application/connect+json',
      'e2b-sandbox-id': id,
      'e2b-sandbox-port': '49983',
      'x-access-token': await token(id),
    },
    body: Buffer.concat([head, message]),
  })
  const first = await answer.body?.getReader().read()
  const text = Buffer.from(first?.value ?? []).toString()
  return text.includes('invalid_argument') ? 400 : answer.status
}
