import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { chmodSync, mkdirSync, mkdtempSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_MODE, SPAWN } from './guest-process.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
let root = ''
beforeEach(() => {
  root = mkdtempSync(join(fixture.directory, 'services-'))
  chmodSync(fixture.directory, 0o755)
  chmodSync(root, 0o755)
})

const KINDS = ['', 'created', 'changed', 'removed', 'renamed', 'overflow']

async function watch(path: string, flags: number) {
  const conversation = fixture.guest.request('Watch', { path, flags })
  const { directories } = await conversation.expect('Watching')
  const changes = async () => {
    await delay(150)
    const list: string[] = []
    while (conversation.waiting) {
      const message = await conversation.next()
      if (message.name !== 'Changed') throw new Error(message.name)
      const { kind, path: changed, from } = message.body
      const line = [KINDS[kind], changed.slice(path.length), from.slice(path.length)].filter(Boolean).join(' ')
      // Cutting a file and writing it are two changes; how close they come together is chance.
      if (list.at(-1) !== line) list.push(line)
    }
    return list
  }
  return { conversation, directories, changes }
}

describe('watch', () => {
  it('tells what happens, also in directories that are new', async () => {
    mkdirSync(`${root}/old/inner`, { recursive: true })
    const { directories, changes } = await watch(root, 1)
    expect(directories).toBe(3)
    writeFileSync(`${root}/old/inner/file`, 'x')
    expect(await changes()).toEqual(['created /old/inner/file', 'changed /old/inner/file'])
    mkdirSync(`${root}/new/deep`, { recursive: true })
    writeFileSync(`${root}/new/deep/file`, 'x')
    expect(new Set(await changes())).toContain('created /new/deep/file')
    writeFileSync(`${root}/new/deep/file`, 'y')
    expect(await changes()).toEqual(['changed /new/deep/file'])
    renameSync(`${root}/new`, `${root}/moved`)
    expect(await changes()).toEqual(['renamed /moved /new'])
    writeFileSync(`${root}/moved/deep/file`, 'z')
    expect(await changes()).toEqual(['changed /moved/deep/file'])
    rmSync(`${root}/moved/deep/file`)
    renameSync(`${root}/moved`, `${fixture.directory}/outside-${Date.now()}`)
    expect(await changes()).toEqual(['removed /moved/deep/file', 'removed /moved'])
  })

  it('is not recursive unless asked, and shows an atomic write as one change', async () => {
    mkdirSync(`${root}/sub`)
    const { changes } = await watch(root, 0)
    writeFileSync(`${root}/sub/file`, 'x')
    expect(await changes()).toEqual([])
    for (let i = 0; i < 2; i++) {
      const write = fixture.guest.request('Write', { path: `${root}/file`, mode: DEFAULT_MODE, user: '', flags: 0 })
      await write.expect('Credit')
      write.send('Eof', {})
      await write.expect('Entry')
    }
    expect(await changes()).toEqual(['created /file', 'changed /file'])
  })

  it('watches one file, and fails for none', async () => {
    writeFileSync(`${root}/file`, 'x')
    const { changes } = await watch(`${root}/file`, 0)
    writeFileSync(`${root}/file`, 'y')
    expect(await changes()).toEqual(['changed'])
    expect(await fixture.guest.request('Watch', { path: `${root}/none`, flags: 1 }).expect('Failed')).toMatchObject({
      errno: 2,
    })
  })

  it('holds back without credit and says when events were lost', async () => {
    const { conversation } = await watch(root, 1)
    await fixture.guest.exec([
      'python3',
      '-c',
      `import os\nfor i in range(15000):\n open("${root}/file-%d" % (i % 50), "w").close(); os.unlink("${root}/file-%d" % (i % 50))`,
    ])
    conversation.send('Credit', { bytes: 50_000_000 })
    await delay(500)
    const kinds = new Set<number>()
    while (conversation.waiting) {
      const message = await conversation.next()
      if (message.name === 'Changed') kinds.add(message.body.kind)
    }
    expect(kinds.has(5)).toBe(true)
  })
})

async function listen(host: string, accept: (socket: Socket) => void): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    // The guest resets what is open when its test ends.
    socket.on('error', () => {})
    accept(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return { server, port: (server.address() as AddressInfo).port }
}

describe('connections', () => {
  it.each([['127.0.0.1'], ['::1']])('reaches %s, with an end in each direction', async (host) => {
    const { server, port } = await listen(host, (socket) => {
      const parts: Buffer[] = []
      socket.on('data', (bytes) => parts.push(bytes))
      socket.on('end', () => socket.end(Buffer.concat([Buffer.from('got '), ...parts])))
    })
    const conversation = fixture.guest.request('Connect', { port })
    await conversation.expect('Connected')
    await conversation.expect('Credit')
    conversation.send('Data', { bytes: Buffer.from('request') })
    conversation.send('Eof', {})
    const messages = await conversation.all()
    const data = Buffer.concat(
      messages.map((message) => (message.name === 'Data' ? message.body.bytes : new Uint8Array())),
    )
    expect(data.toString()).toBe('got request')
    expect(messages.slice(-2).map((message) => message.name)).toEqual(['Eof', 'Close'])
    server.close()
  })

  it('says that nobody listens', async () => {
    const { server, port } = await listen('127.0.0.1', () => {})
    await new Promise((resolve) => server.close(resolve))
    expect(await fixture.guest.request('Connect', { port }).expect('Failed')).toMatchObject({ errno: 111 })
  })

  it('resets what the host abandons', async () => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const { server, port } = await listen('127.0.0.1', (socket) =>
      socket.on('error', (error) => resolve((error as NodeJS.ErrnoException).code ?? '')),
    )
    const conversation = fixture.guest.request('Connect', { port })
    await conversation.expect('Connected')
    await delay(50)
    conversation.send('Close', {})
    expect(await promise).toBe('ECONNRESET')
    server.close()
  })

  it('carries megabytes', async () => {
    const { server, port } = await listen('127.0.0.1', (socket) => socket.end(Buffer.alloc(10_000_000)))
    const conversation = fixture.guest.request('Connect', { port })
    let total = 0
    for (;;) {
      const message = await conversation.next()
      if (message.name === 'Data') total += message.body.bytes.length
      if (message.name === 'Eof') break
    }
    expect(total).toBe(10_000_000)
    server.close()
  })
})

describe('the machine', () => {
  const CONFIGURE = {
    hostname: '',
    realtimeNanoseconds: 0n,
    entropy: Buffer.alloc(64, 1),
    environment: [],
    workdir: '',
    user: '',
    openFiles: 0,
    pids: 0,
    retainedOutputBytes: 0,
    flags: 0,
  }

  it('takes its configuration', async () => {
    const { guest } = fixture
    const configured = {
      ...CONFIGURE,
      environment: ['A=1', 'B=2'],
      workdir: `${root}/work/dir`,
      user: 'daemon',
      openFiles: 300,
      flags: 1,
    }
    await guest.request('Configure', configured).expect('Done')
    const { stdout } = await guest.exec(['sh', '-c', 'id -un; pwd; echo $A $B; ulimit -n; umask'], {
      cwd: '',
      environment: ['B=3'],
    })
    expect(stdout).toBe(`daemon\n${root}/work/dir\n1 3\n300\n0022\n`)
    expect(statSync(`${root}/work/dir`).uid).toBe(1)
    const write = guest.request('Write', { path: 'relative', mode: DEFAULT_MODE, user: '', flags: 0 })
    await write.expect('Credit')
    write.send('Eof', {})
    await write.expect('Entry')
    expect(statSync(`${root}/work/dir/relative`).uid).toBe(1)
    expect((await guest.exec(['id', '-un'], { user: 'root' })).stdout).toBe('root\n')
    expect((await guest.exec(['sh', '-c', 'echo $HOME'], { user: 'root' })).stdout).toBe('/root\n')
    expect(await guest.request('Configure', { ...CONFIGURE, user: 'nobody-such' }).expect('Failed')).toMatchObject({
      errno: 2,
    })
  })

  it('limits the number of processes', async () => {
    const { guest } = fixture
    await guest.request('Configure', { ...CONFIGURE, pids: 20, user: '54321:54321' }).expect('Done')
    const result = await guest.exec(['sh', '-c', 'i=0; while [ $i -lt 40 ]; do sleep 1 & i=$((i+1)); done'], {
      timeoutMilliseconds: 3000n,
    })
    expect(result.stderr).toContain('ork')
  })

  it('tells its statistics', async () => {
    const conversation = fixture.guest.request('Spawn', { ...SPAWN, argv: ['sleep', '10'] })
    await conversation.expect('Spawned')
    const usage = await fixture.guest.request('Statistics', {}).expect('Usage')
    expect(usage.processes).toBeGreaterThan(1)
    expect(usage.memoryBytes).toBeGreaterThan(0n)
    expect(usage.diskTotalBytes).toBeGreaterThan(usage.diskUsedBytes)
  })

  it('kills everything at Shutdown and ends', async () => {
    const conversation = fixture.guest.request('Spawn', {
      ...SPAWN,
      argv: ['sh', '-c', 'setsid sleep 100 & echo $!; sleep 100'],
    })
    await conversation.expect('Spawned')
    const pid = Number(Buffer.from((await conversation.expect('Output')).bytes).toString())
    fixture.guest.request('Shutdown', {})
    await delay(500)
    expect(fixture.guest.child.exitCode).toBe(0)
    expect(() => process.kill(pid, 0)).toThrow('ESRCH')
  })
})
