import { Sandbox as CodeSandbox } from '@e2b/code-interpreter'
import {
  GitUpstreamError,
  NotFoundError,
  Sandbox,
  SandboxNotFoundError,
  Secret,
  SecretError,
  Template,
  Volume,
  VolumeNotFoundError,
  waitForFile,
} from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { E2bServer } from './support/e2b-server.ts'

/** What the packages offer besides what `dialect-e2b.test.ts` drives: together every public method, on both rungs. */
const RUNGS = (process.env['HEARTH_RUNGS']?.split(',') ?? ['process', 'gvisor']).filter((rung) => rung !== 'simulated')

const server = await E2bServer.start()
process.env['E2B_VOLUME_API_URL'] = server.url
afterAll(async () => {
  delete process.env['E2B_VOLUME_API_URL']
  await server[Symbol.asyncDispose]()
})

for (const rung of RUNGS) {
  if (await server.has(rung)) {
    describe(`the rest of the vendor's packages on ${rung}`, () => {
      suite(rung)
    })
  } else {
    describe(rung, () => {
      test('is available', (context) => context.skip(`${rung} does not work here`))
    })
  }
}

function suite(rung: string): void {
  let sandbox: CodeSandbox
  const metadata = { 'hearth.rung': rung }

  beforeAll(async () => {
    sandbox = await CodeSandbox.create('host', { metadata, timeoutMs: 600_000 })
  })
  afterAll(async () => {
    await sandbox.kill()
  })

  test('by identifier alone', async () => {
    const id = sandbox.sandboxId
    await Sandbox.setTimeout(id, 500_000)
    expect((await Sandbox.getFullInfo(id)).endAt.getTime()).toBeLessThan(Date.now() + 501_000)
    expect(await Sandbox.getMetrics(id)).toHaveLength(1)
    await Sandbox.updateNetwork(id, { allowOut: ['names.test'], denyOut: ['0.0.0.0/0'] })
    expect((await Sandbox.getInfo(id)).network?.allowOut).toEqual(['names.test'])
    await Sandbox.updateNetwork(id, {})
    const { snapshotId } = await Sandbox.createSnapshot(id)
    expect((await sandbox.listSnapshots().nextItems()).map((each) => each.snapshotId)).toEqual([snapshotId])
    expect(await Sandbox.deleteSnapshot(snapshotId)).toBe(true)
    const [fork] = await Sandbox.fork(id, { timeoutMs: 60_000 })
    if (!(fork instanceof Sandbox)) throw new Error('no fork')
    expect(await Sandbox.pause(fork.sandboxId)).toBe(true)
    await fork.connect({ timeoutMs: 60_000 })
    expect(await fork.isRunning()).toBe(true)
    expect(await fork.betaPause()).toBe(true)
    expect(await Sandbox.kill(fork.sandboxId)).toBe(true)
    expect(await Sandbox.kill(fork.sandboxId)).toBe(false)
    await expect(Sandbox.fork(fork.sandboxId)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.pause(fork.sandboxId)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.createSnapshot(fork.sandboxId)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.setTimeout(fork.sandboxId, 1000)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.getMetrics(fork.sandboxId)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.updateNetwork(fork.sandboxId, {})).rejects.toBeInstanceOf(SandboxNotFoundError)
  })

  test('files in every form', async () => {
    const { files } = sandbox
    const written = await files.writeFiles([
      { path: 'forms/text', data: 'ä' },
      { path: 'forms/blob', data: new Blob(['blob']) },
      { path: 'forms/stream', data: new Blob(['stream']).stream() },
    ])
    expect(written.map(({ path }) => path)).toEqual(
      ['text', 'blob', 'stream'].map((name) => `/home/user/forms/${name}`),
    )
    expect(await (await files.read('forms/blob', { format: 'blob' })).text()).toBe('blob')
    expect(await new Response(await files.read('forms/stream', { format: 'stream' })).text()).toBe('stream')
    expect(await files.read('forms/text', { format: 'text', gzip: true })).toBe('ä')
    expect(await files.write('octets', 'o', { useOctetStream: true })).toMatchObject({ path: '/home/user/octets' })
    expect(await files.read('/root/as-root', { user: 'root' }).catch((error: Error) => error.constructor.name)).toBe(
      'FileNotFoundError',
    )
    await files.write('as-root', 'r', { user: 'root' })
    expect(await files.exists('/root/as-root')).toBe(true)
    expect(await files.list('forms')).toHaveLength(3)
  })

  test('a terminal that somebody else looks at', async () => {
    let seen = ''
    const terminal = await sandbox.pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} })
    const second = await sandbox.pty.connect(terminal.pid, {
      timeoutMs: 0,
      onData: (data) => void (seen += Buffer.from(data).toString()),
    })
    await sandbox.pty.sendInput(terminal.pid, Buffer.from('echo $((6 * 7))\n'))
    await expect.poll(() => seen).toContain('42')
    await second.disconnect()
    expect(await sandbox.pty.kill(terminal.pid)).toBe(true)
    await expect(terminal.wait()).rejects.toMatchObject({ exitCode: -1 })
    expect(await sandbox.pty.kill(terminal.pid)).toBe(false)
  })

  test('handles of commands', async () => {
    const handle = await sandbox.commands.run('read line; echo "got $line" >&2; exit 7', {
      background: true,
      stdin: true,
      timeoutMs: 0,
    })
    await handle.sendStdin('x\n')
    await expect(handle.wait()).rejects.toMatchObject({ stderr: 'got x\n' })
    expect([handle.exitCode, handle.stdout, handle.stderr]).toEqual([7, '', 'got x\n'])
    const other = await sandbox.commands.run('cat', { background: true, stdin: true, timeoutMs: 0 })
    await other.sendStdin(new Uint8Array([104, 105]))
    await other.closeStdin()
    expect((await other.wait()).stdout).toBe('hi')
    const doomed = await sandbox.commands.run('sleep 60', { background: true })
    expect(await doomed.kill()).toBe(true)
    await expect(sandbox.commands.sendStdin(999_999, 'x')).rejects.toThrow(/not found/)
  })

  test('repositories of git', async () => {
    const { git } = sandbox
    await sandbox.commands.run(
      'git init -q --bare -b main /tmp/origin.git && git config --global init.defaultBranch main',
    )
    await git.configureUser('a', 'a@b.test')
    await git.init('/tmp/work', { initialBranch: 'main' })
    await git.setConfig('hearth.key', 'value', { scope: 'local', path: '/tmp/work' })
    expect(await git.getConfig('hearth.key', { scope: 'local', path: '/tmp/work' })).toBe('value')
    await sandbox.files.write('/tmp/work/a', 'one\n')
    expect((await git.status('/tmp/work')).fileStatus.map(({ name }) => name)).toEqual(['a'])
    await git.add('/tmp/work')
    await git.commit('/tmp/work', 'first')
    await git.remoteAdd('/tmp/work', 'origin', '/tmp/origin.git')
    await expect(git.push('/tmp/work', { setUpstream: false })).rejects.toBeInstanceOf(GitUpstreamError)
    expect(await git.remoteGet('/tmp/work', 'origin')).toBe('/tmp/origin.git')
    await git.push('/tmp/work', { remote: 'origin', branch: 'main', setUpstream: true })
    await git.createBranch('/tmp/work', 'topic')
    await git.checkoutBranch('/tmp/work', 'main')
    await git.deleteBranch('/tmp/work', 'topic')
    expect((await git.branches('/tmp/work')).branches).toEqual(['main'])
    await git.clone('/tmp/origin.git', { path: '/tmp/clone' })
    expect(await sandbox.files.read('/tmp/clone/a')).toBe('one\n')
    await sandbox.files.write('/tmp/work/a', 'two\n')
    await git.restore('/tmp/work', { paths: ['a'] })
    expect(await sandbox.files.read('/tmp/work/a')).toBe('one\n')
    await sandbox.files.write('/tmp/work/b', 'b')
    await git.add('/tmp/work', { files: ['b'] })
    await git.reset('/tmp/work')
    expect((await git.status('/tmp/work')).hasStaged).toBe(false)
    await git.add('/tmp/work')
    await git.commit('/tmp/work', 'second')
    await git.push('/tmp/work', { remote: 'origin', branch: 'main' })
    await git.pull('/tmp/clone')
    expect(await sandbox.files.exists('/tmp/clone/b')).toBe(true)
    await git.dangerouslyAuthenticate({ username: 'u', password: 'p', host: 'git.test' })
    expect(await sandbox.files.read('~/.git-credentials')).toContain('git.test')
  })

  test('code that fails, and cells at the same time, leave no variables behind', async () => {
    const value = 'import os\nos.environ.get("TOKEN", "none")'
    const failing = await sandbox.runCode('import os\nassert os.environ["TOKEN"] == "a"\n1 / 0', {
      envs: { TOKEN: 'a' },
    })
    expect(failing.error?.name).toBe('ZeroDivisionError')
    expect((await sandbox.runCode(value)).text).toBe('none')
    const slow = (token: string) =>
      sandbox.runCode(
        `import os, time\ntime.sleep(0.3)\nos.environ.get("TOKEN", "none")`,
        token === '' ? {} : { envs: { TOKEN: token } },
      )
    expect((await Promise.all([slow('b'), slow(''), slow('c')])).map(({ text }) => text)).toEqual(['b', 'none', 'c'])
    await expect(
      sandbox.runCode('import time\ntime.sleep(60)', { envs: { TOKEN: 'd' }, timeoutMs: 1000 }),
    ).rejects.toThrow(/time/i)
    expect((await sandbox.runCode(value)).text).toBe('none')
  })

  test('code in the other languages', async () => {
    const javascript = await sandbox.runCode('const a = [1, 2]; console.log("said"); a.length + 1', { language: 'js' })
    expect([javascript.text, javascript.logs.stdout.join('')]).toEqual(['3', 'said\n'])
    const typed = 'interface A { n: number }\nconst b: A = { n: 4 }; b.n'
    expect((await sandbox.runCode(typed, { language: 'ts' })).text).toBe('4')
    const shell = await sandbox.runCode('X=5; echo $X; echo no >&2', { language: 'bash' })
    expect([shell.logs.stdout, shell.logs.stderr]).toEqual([['5\n'], ['no\n']])
    const context = await sandbox.createCodeContext({ language: 'javascript', cwd: '/tmp' })
    expect((await sandbox.runCode('process.cwd()', { context })).text).toBe('/tmp')
    await sandbox.removeCodeContext(context.id)
  })

  test('volumes, by every method', async () => {
    const volume = await Volume.create(`surface-${rung}`)
    expect((await Volume.list()).map(({ volumeId }) => volumeId)).toContain(volume.volumeId)
    expect((await Volume.getInfo(volume.volumeId)).name).toBe(`surface-${rung}`)
    const again = await Volume.connect(volume.volumeId)
    await again.makeDir('/d')
    expect(await again.writeFile('/d/f', 'content')).toMatchObject({ path: '/d/f' })
    expect([await again.readFile('/d/f'), await again.exists('/d/f'), await again.exists('/d/none')]).toEqual([
      'content',
      true,
      false,
    ])
    expect((await again.updateMetadata('/d/f', { mode: 0o600 })).mode & 0o777).toBe(0o600)
    expect((await again.getInfo('/d/f')).size).toBe(7)
    expect((await again.list('/d')).map(({ name }) => name)).toEqual(['f'])
    await again.remove('/d/f')
    const mounted = await Sandbox.create('host', { metadata, volumeMounts: { '/data': volume } })
    expect((await mounted.commands.run('touch /data/from-inside && ls -d /data/d')).stdout).toBe('/data/d\n')
    await mounted.kill()
    expect(await again.exists('/from-inside')).toBe(true)
    expect([await Volume.destroy(volume.volumeId), await Volume.destroy(volume.volumeId)]).toEqual([true, false])
    await expect(Volume.getInfo(volume.volumeId)).rejects.toBeInstanceOf(VolumeNotFoundError)
  })

  test('templates, by every instruction that needs no network', { timeout: 180_000 }, async () => {
    const base = await sandbox.createSnapshot({ name: `surface-base-${rung}` })
    const template = Template()
      .fromTemplate(base.snapshotId)
      .setWorkdir('/home/user/app')
      .runCmd(['echo one > one', 'echo two > two'])
      .rename('one', 'renamed')
      .remove('two', { force: true })
      .makeDir(['made/a', 'made/b'])
      .makeSymlink('renamed', 'link')
      .runCmd('git init -q -b main src && git -C src -c user.name=a -c user.email=a@b commit -qm x --allow-empty')
      .gitClone('/home/user/app/src', 'cloned')
      .skipCache()
      .setEnvs({ KEPT: 'yes' })
      .setReadyCmd(waitForFile('/home/user/app/renamed'))
    expect(JSON.parse(await Template.toJSON(template))).toMatchObject({ steps: expect.any(Array) as unknown })
    const begun = await Template.buildInBackground(template, `surface-${rung}`)
    await expect
      .poll(async () => (await Template.getBuildStatus(begun)).status, { timeout: 120_000, interval: 500 })
      .toBe('ready')
    expect(await Template.aliasExists(`surface-${rung}`)).toBe(true)
    const made = await Sandbox.create(`surface-${rung}`)
    const { stdout } = await made.commands.run('cat link; ls; ls -d made/* cloned/.git; echo $KEPT')
    expect(stdout).toBe('one\ncloned\nlink\nmade\nrenamed\nsrc\ncloned/.git\nmade/a\nmade/b\nyes\n')
    await made.kill()
    const dockerfile = `FROM ${base.names[0] ?? ''}\nWORKDIR /srv\nRUN echo docker > made\nENV A=b\n`
    expect(Template.toDockerfile(Template().fromImage('debian:12').runCmd('true'))).toContain('FROM debian:12')
    await Template.build(Template().fromDockerfile(dockerfile), `surface-docker-${rung}`)
    const second = await Sandbox.create(`surface-docker-${rung}`)
    expect((await second.commands.run('cat /srv/made; echo $A')).stdout).toBe('docker\nb\n')
    await second.kill()
  })

  test('what there is not, by its name', async () => {
    await expect(Secret.create('name', 'value')).rejects.toThrow(/secrets of E2B/)
    await expect(Secret.list().nextItems()).rejects.toBeInstanceOf(SecretError)
    await expect(Sandbox.create('host', { metadata, mcp: { x: {} } as never })).rejects.toThrow(/mcp|not found/i)
    await expect(sandbox.getMcpToken()).rejects.toThrow(/mcp-gateway/)
    expect(sandbox.getMcpUrl()).toMatch(/^https:\/\/50005-/)
    await expect(
      Template.build(
        Template().fromAWSRegistry('x.test/a', { accessKeyId: 'a', secretAccessKey: 'b', region: 'c' }),
        'aws',
      ),
    ).rejects.toThrow(/501: .*fromAWSRegistry/)
    await expect(Sandbox.create('no-such-template-at-all', { metadata })).rejects.toThrow(/no-such-template/)
    await expect(Sandbox.getInfo('i0000000000000000000')).rejects.toBeInstanceOf(NotFoundError)
  })
}
