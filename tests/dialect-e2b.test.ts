import { Sandbox as CodeSandbox } from '@e2b/code-interpreter'
import {
  AuthenticationError,
  CommandExitError,
  FileNotFoundError,
  InvalidArgumentError,
  Sandbox,
  SandboxNotFoundError,
  TimeoutError,
  type FilesystemEvent,
} from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** Two rungs that differ most for a client: one without memory in its captures, and one with. */
const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')

const server = await E2bServer.start()
afterAll(() => server[Symbol.asyncDispose]())

for (const rung of RUNGS) {
  if (!(await server.has(rung))) {
    describe(rung, () => {
      test('is available', (context) => context.skip(`${rung} does not work here`))
    })
  } else {
    describe(`the vendor's packages on ${rung}`, () => {
      suite(rung)
    })
  }
}

function suite(rung: string): void {
  let sandbox: CodeSandbox
  const metadata = { 'hearth.rung': rung, purpose: 'a b&c=d' }

  beforeAll(async () => {
    sandbox = await CodeSandbox.create('host', { metadata, envs: { GREETING: 'hello' }, timeoutMs: 600_000 })
  })
  afterAll(async () => {
    await sandbox.kill()
  })

  test('says what it is', async () => {
    const info = await sandbox.getInfo()
    expect(info).toMatchObject({ sandboxId: sandbox.sandboxId, templateId: 'host', state: 'running', metadata })
    expect(info.endAt.getTime()).toBeGreaterThan(Date.now() + 500_000)
    expect((await server.native.get(nativeId(sandbox))).info.rung).toBe(rung)
    expect(await sandbox.isRunning()).toBe(true)
    const [sample] = await sandbox.getMetrics()
    expect(sample).toMatchObject({ cpuCount: 1, memTotal: 1024 ** 3 })
    expect(await sandbox.getMetrics({ end: new Date(Date.now() - 60_000) })).toEqual([])
  })

  test('runs commands', async () => {
    const seen: string[] = []
    const { stdout, stderr, exitCode } = await sandbox.commands.run(
      'echo $GREETING $EXTRA $E2B_SANDBOX_ID; pwd; echo no >&2',
      {
        envs: { EXTRA: 'there' },
        onStdout: (data) => void seen.push(data),
      },
    )
    expect({ stdout, stderr, exitCode }).toEqual({
      stdout: `hello there ${sandbox.sandboxId}\n/home/user\n`,
      stderr: 'no\n',
      exitCode: 0,
    })
    expect(seen.join('')).toBe(stdout)
    const failed = sandbox.commands.run('echo said; exit 3')
    await expect(failed).rejects.toMatchObject({ exitCode: 3, stdout: 'said\n', error: 'exit status 3' })
    await expect(failed).rejects.toBeInstanceOf(CommandExitError)
    expect((await sandbox.commands.run('whoami', { user: 'root' })).stdout).toBe('root\n')
    expect((await sandbox.commands.run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n')
    await expect(sandbox.commands.run('true', { cwd: '/nowhere' })).rejects.toThrow("cwd '/nowhere' does not exist")
    await expect(sandbox.commands.run('true', { user: 'nobody-here' })).rejects.toBeInstanceOf(AuthenticationError)
    await expect(sandbox.commands.run('sleep 60', { timeoutMs: 1000 })).rejects.toBeInstanceOf(TimeoutError)
    const large = await sandbox.commands.run('head -c 3000000 /dev/zero | tr "\\0" x; echo ä')
    expect(large.stdout.length).toBe(3_000_002)
  })

  test('follows, feeds and ends commands in the background', async () => {
    const shell = await sandbox.commands.run('cat; sleep 60', { background: true, stdin: true, timeoutMs: 0 })
    const second = await sandbox.commands.connect(shell.pid, { timeoutMs: 0 })
    await sandbox.commands.sendStdin(shell.pid, 'one\n')
    await expect.poll(() => [shell.stdout, second.stdout]).toEqual(['one\n', 'one\n'])
    const [listed] = (await sandbox.commands.list()).filter(({ pid }) => pid === shell.pid)
    expect(listed).toMatchObject({ cmd: '/bin/bash', args: ['-l', '-c', 'cat; sleep 60'] })
    await second.disconnect()
    await sandbox.commands.closeStdin(shell.pid)
    expect(await sandbox.commands.kill(shell.pid)).toBe(true)
    await expect(shell.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' })
    expect(await sandbox.commands.kill(shell.pid)).toBe(false)
    await expect(sandbox.commands.connect(999_999)).rejects.toThrow(/not found/)
  })

  test('has terminals', async () => {
    let seen = ''
    const terminal = await sandbox.pty.create({
      cols: 80,
      rows: 24,
      timeoutMs: 0,
      onData: (data) => void (seen += Buffer.from(data).toString()),
    })
    await sandbox.pty.resize(terminal.pid, { cols: 100, rows: 30 })
    await sandbox.pty.sendInput(terminal.pid, Buffer.from('echo $((40 + 2)) $TERM; stty size; exit 4\n'))
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: 4 })
    expect(seen).toMatch(/42 xterm-256color\s+30 100/)
  })

  test('keeps files', async () => {
    const { files } = sandbox
    expect(await files.write('notes/a.txt', 'ä')).toMatchObject({ path: '/home/user/notes/a.txt', name: 'a.txt' })
    expect(await files.read('~/notes/a.txt')).toBe('ä')
    const bytes = Buffer.alloc(300_000, 7)
    await files.write([
      { path: 'notes/b', data: new Uint8Array(bytes).buffer },
      { path: '/tmp/deep/c', data: 'c' },
    ])
    expect(Buffer.from(await files.read('notes/b', { format: 'bytes' })).equals(bytes)).toBe(true)
    await files.write('packed', 'packed '.repeat(1000), { gzip: true })
    expect((await files.read('packed')).length).toBe(7000)
    await files.write('empty', '')
    expect(await files.read('empty')).toBe('')
    await sandbox.commands.run('ln -s notes/a.txt link && ln -s nowhere broken && chmod 640 notes/b')
    expect(await files.getInfo('link')).toMatchObject({ type: 'file', symlinkTarget: '/home/user/notes/a.txt' })
    const listed = await files.list('.', { depth: 2 })
    expect(listed.map(({ path }) => path)).toContain('/home/user/notes/b')
    const [b] = listed.filter(({ name }) => name === 'b')
    expect(b).toMatchObject({ type: 'file', size: 300_000, permissions: '-rw-r-----', owner: 'user', group: 'user' })
    expect(await files.makeDir('x/y')).toBe(true)
    expect(await files.makeDir('x/y')).toBe(false)
    expect((await files.rename('notes/a.txt', 'z/moved.txt')).path).toBe('/home/user/z/moved.txt')
    await files.remove('notes')
    await files.remove('notes')
    expect(await files.exists('notes/b')).toBe(false)
    await expect(files.read('notes/b')).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(files.list('z/moved.txt')).rejects.toBeInstanceOf(InvalidArgumentError)
    await expect(files.read('x')).rejects.toThrow(/400|directory/i)
    const written = await files.write('meta', 'x', { metadata: { Author: 'me', k: 'v' } })
    expect(written.metadata).toEqual({ author: 'me', k: 'v' })
    expect((await files.getInfo('meta')).metadata).toEqual({ author: 'me', k: 'v' })
  })

  test('tells of changes', async () => {
    await sandbox.files.makeDir('watched')
    const events: FilesystemEvent[] = []
    const watch = await sandbox.files.watchDir('watched', (event) => void events.push(event), {
      recursive: true,
      includeEntry: true,
      timeoutMs: 0,
    })
    await sandbox.files.write('watched/new', 'x')
    await sandbox.commands.run('chmod 600 watched/new')
    await sandbox.files.rename('watched/new', 'watched/renamed')
    await sandbox.files.remove('watched/renamed')
    const told = (): string[] => events.map(({ name, type }) => `${type} ${name}`)
    await expect
      .poll(told)
      .toEqual(expect.arrayContaining(['write new', 'chmod new', 'rename new', 'create renamed', 'remove renamed']))
    expect(events.find(({ type }) => type === 'create')?.entry).toMatchObject({ name: 'new', type: 'file' })
    await watch.stop()
    await expect(sandbox.files.watchDir('nowhere', () => {})).rejects.toThrow(/nowhere|not found/i)
  })

  test('gives links to files', async () => {
    const form = new FormData()
    form.append('file', new Blob(['by a form']), 'ignored')
    const upload = await sandbox.uploadUrl('linked', { useSignatureExpiration: 60 })
    expect((await fetch(upload, { method: 'POST', body: form })).status).toBe(200)
    const link = await sandbox.downloadUrl('linked', { useSignatureExpiration: 60 })
    expect(await (await fetch(link)).text()).toBe('by a form')
    expect((await fetch(link, { headers: { range: 'bytes=3-6' } })).status).toBe(206)
    const other = link.replace('path=linked', 'path=.bashrc')
    expect((await fetch(other)).status).toBe(401)
    // A link for reading is none for writing.
    expect((await fetch(link, { method: 'POST', body: form })).status).toBe(401)
    const late = await sandbox.downloadUrl('linked', { useSignatureExpiration: -60 })
    const refused = await fetch(late)
    expect([refused.status, await refused.text()]).toEqual([401, expect.stringContaining('expired')])
  })

  test('runs code that keeps its state', async () => {
    const lines: string[] = []
    const first = await sandbox.runCode('print("ä")\nx = 40\nx + 2', { onStdout: ({ line }) => void lines.push(line) })
    expect(first).toMatchObject({ text: '42', logs: { stdout: ['ä\n'] }, error: undefined })
    expect(lines).toEqual(['ä\n'])
    const shown = await sandbox.runCode(`
class Rich:
  def _repr_html_(self): return "<b>rich</b>"
  def _repr_png_(self): return b"\\x89PNG"
  def _repr_json_(self): return {"a": [1]}
display(Rich())
x + 1`)
    expect(shown.results[0]).toMatchObject({
      html: '<b>rich</b>',
      png: 'iVBORw==',
      json: { a: [1] },
      isMainResult: false,
    })
    expect(shown.text).toBe('41')
    const failed = await sandbox.runCode('1 / 0')
    expect(failed.error).toMatchObject({ name: 'ZeroDivisionError', value: 'division by zero' })
    await expect(sandbox.runCode('import time\ntime.sleep(60)', { timeoutMs: 1000 })).rejects.toBeInstanceOf(
      TimeoutError,
    )
    expect((await sandbox.runCode('x')).text).toBe('40')
    const context = await sandbox.createCodeContext({ cwd: '/tmp' })
    expect((await sandbox.runCode('import os\nos.getcwd()', { context })).text).toBe('/tmp')
    const environment = 'import os\nos.environ.get("V", "none")'
    expect((await sandbox.runCode(environment, { context, envs: { V: 'v' } })).text).toBe('v')
    expect((await sandbox.runCode(environment, { context })).text).toBe('none')
    await sandbox.runCode('kept = 1', { context })
    await sandbox.restartCodeContext(context)
    expect((await sandbox.runCode('kept', { context })).error?.name).toBe('NameError')
    await sandbox.removeCodeContext(context)
    await expect(sandbox.runCode('1', { context })).rejects.toThrow(/not found/)
    expect((await sandbox.listCodeContexts()).map(({ language }) => language)).toContain('python')
    expect((await sandbox.runCode('echo "$V"', { language: 'bash', envs: { V: 'w' } })).logs.stdout).toEqual(['w\n'])
    await expect(sandbox.runCode('1', { language: 'cobol' })).rejects.toThrow(/501/)
  })

  test('sleeps and goes on, with what runs in it', async () => {
    const process = await sandbox.commands.run(
      'i=0; while true; do i=$((i+1)); echo $i > /tmp/count; sleep 0.1; done',
      {
        background: true,
        timeoutMs: 0,
      },
    )
    await sandbox.runCode('asleep = "remembered"')
    expect(await sandbox.pause()).toBe(true)
    expect(await sandbox.pause()).toBe(false)
    expect(await sandbox.isRunning()).toBe(false)
    await expect(sandbox.commands.run('true')).rejects.toThrow(/sandbox/i)
    expect((await Sandbox.getInfo(sandbox.sandboxId)).state).toBe('paused')
    const again = await CodeSandbox.connect(sandbox.sandboxId, { timeoutMs: 600_000 })
    expect((await again.runCode('asleep')).text).toBe('remembered')
    const count = async (): Promise<number> => Number(await again.files.read('/tmp/count'))
    const before = await count()
    await expect.poll(count).toBeGreaterThan(before)
    expect(await again.commands.kill(process.pid)).toBe(true)
    sandbox = again
  })

  test('is copied', async () => {
    await sandbox.files.write('copied', 'from the parent')
    const snapshot = await sandbox.createSnapshot({ name: `prepared-${rung}` })
    expect(snapshot.names).toEqual([`prepared-${rung}`])
    const listed = await Sandbox.listSnapshots({ sandboxId: sandbox.sandboxId }).nextItems()
    expect(listed.map(({ snapshotId }) => snapshotId)).toEqual([snapshot.snapshotId])
    const forks = await sandbox.fork({ count: 2, timeoutMs: 120_000 })
    const made = await Sandbox.create(`prepared-${rung}`)
    const copies = [made, ...forks.filter((fork): fork is CodeSandbox => !(fork instanceof Error))]
    expect(copies).toHaveLength(3)
    for (const copy of copies) expect(await copy.files.read('copied')).toBe('from the parent')
    for (const copy of copies) await copy.kill()
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId)).toBe(true)
    expect(await Sandbox.deleteSnapshot(snapshot.snapshotId)).toBe(false)
  })

  test('is the same sandbox for the native client', async () => {
    const native = await server.native.get(nativeId(sandbox))
    expect((await native.exec('cat copied')).stdout).toBe('from the parent')
    await native.files.write('/home/user/native', 'written')
    expect(await sandbox.files.read('native')).toBe('written')
    const [fork] = (await native.fork(1)).children
    const forked = await Sandbox.connect(fork?.id.replace('_', '') ?? '')
    expect(await forked.files.read('native')).toBe('written')
    expect(await forked.kill()).toBe(true)
    const other = await server.native.create({ rung: 'process', template: 'host' })
    const listed = await Sandbox.list().nextItems()
    expect(listed.map(({ sandboxId }) => sandboxId)).toEqual(
      expect.arrayContaining([sandbox.sandboxId, other.id.replace('_', '')]),
    )
    expect(await Sandbox.kill(other.id.replace('_', ''))).toBe(true)
    await expect(server.native.get(other.id)).rejects.toMatchObject({ code: 'sandbox_not_found' })
  })

  test('ends while somebody waits', async () => {
    const doomed = await Sandbox.create('host', { metadata: { 'hearth.rung': rung } })
    const waiting = doomed.commands.run('sleep 60')
    waiting.catch(() => {})
    await expect.poll(async () => (await doomed.commands.list()).length).toBe(1)
    await (await server.native.get(nativeId(doomed))).kill()
    await expect(waiting).rejects.toThrow(/killed or reached its end of life/)
    expect([await doomed.isRunning(), await doomed.kill()]).toEqual([false, false])
    await expect(doomed.getInfo()).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.connect(doomed.sandboxId)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })
}

function nativeId(sandbox: Sandbox): string {
  return sandbox.sandboxId.replace(/^sb/, 'sb_')
}
