import { Sandbox as CodeSandbox } from '@e2b/code-interpreter'
import { Sandbox } from 'e2b'
import { afterAll, describe, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')

const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())
const rungs = await Promise.all(RUNGS.map(async (rung) => [rung, await server.has(rung)] as const))

describe.each(rungs)('a sandbox on %s', (rung, isHere) => {
  const metadata = { 'hearth.rung': rung }

  test('that was asleep knows its contexts, its processes and its terminals', { timeout: 60_000 }, async (context) => {
    context.skip(!isHere, `no ${rung} here`)
    const sandbox = await CodeSandbox.create('host', { metadata })
    const own = await sandbox.createCodeContext({ cwd: '/tmp' })
    await sandbox.runCode('x = 20', { context: own })
    await sandbox.runCode('import os\nos.chdir("/usr")\ny = 1')
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} })
    await sandbox.commands.run('sleep 600', { background: true, timeoutMs: 0 })
    const before = (await sandbox.commands.list()).map(({ pid }) => pid)
    await sandbox.pause()
    const again = await CodeSandbox.connect(sandbox.sandboxId)
    expect((await again.runCode('x + 1', { context: own })).text).toBe('21')
    expect((await again.listCodeContexts()).map(({ id }) => id)).toContain(own.id)
    // What a cell has changed stays changed.
    expect((await again.runCode('os.getcwd()')).text).toBe('/usr')
    expect((await again.commands.list()).map(({ pid }) => pid)).toEqual(before)
    expect((await again.commands.list()).map(({ cmd }) => cmd)).toContain('/bin/bash')
    let seen = ''
    const looking = await again.pty.connect(terminal.pid, {
      timeoutMs: 0,
      onData: (data) => void (seen += Buffer.from(data).toString()),
    })
    await again.pty.sendInput(terminal.pid, Buffer.from('echo $((6 * 7))\n'))
    await expect.poll(() => seen, { timeout: 10_000 }).toContain('42')
    await looking.disconnect()
    // Without its memory it begins anew, contexts with it.
    await again.pause({ keepMemory: false })
    const rebooted = await CodeSandbox.connect(sandbox.sandboxId)
    expect((await rebooted.runCode('import os\nos.getcwd()', { context: own })).text).toBe('/tmp')
    expect((await rebooted.runCode('x', { context: own })).error?.name).toBe('NameError')
    await rebooted.kill()
    await expect(rebooted.listCodeContexts()).rejects.toThrow(/not found/)
  })

  test('that is killed ends what is under way with an error', { timeout: 60_000 }, async (context) => {
    context.skip(!isHere, `no ${rung} here`)
    const sandbox = await CodeSandbox.create('host', { metadata })
    await sandbox.files.makeDir('watched')
    const stopped = Promise.withResolvers<Error | undefined>()
    await sandbox.files.watchDir('watched', () => {}, { timeoutMs: 0, onExit: (error) => stopped.resolve(error) })
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} })
    const command = await sandbox.commands.run('sleep 600', { background: true, timeoutMs: 0 })
    let printed = ''
    const cell = sandbox.runCode('import time\nprint("begun", flush=True)\ntime.sleep(600)', {
      timeoutMs: 0,
      onStdout: ({ line }) => void (printed += line),
    })
    const ends = Promise.allSettled([cell, terminal.wait(), command.wait()])
    await expect.poll(() => printed, { timeout: 10_000 }).toContain('begun')
    await Sandbox.kill(sandbox.sandboxId)
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(await stopped.promise).toBeInstanceOf(Error)
  })
})
