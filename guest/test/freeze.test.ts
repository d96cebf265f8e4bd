import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { useGuest } from './guest-fixture.ts'
import { GuestProcess, SPAWN, type Conversation } from './guest-process.ts'

const fixture = useGuest()

async function freeze(): Promise<void> {
  fixture.guest.send('Freeze', 0, { flags: 1 })
  // This guest shares the machine with others.
  expect(await fixture.guest.control.expect('Frozen')).toEqual({ errno: 0, others: 1 })
}

function output(messages: Awaited<ReturnType<Conversation['all']>>): string {
  return messages
    .map((message) => (message.name === 'Output' ? Buffer.from(message.body.bytes).toString() : ''))
    .join('')
}

async function appears(path: string): Promise<void> {
  while ((await stat(path).catch(() => null)) === null) await delay(5)
}

/** Writes 1000 lines as soon as the file `go` is there, then ends. */
const UNTIL_TOLD = 'echo ready; until [ -e "$0" ]; do sleep 0.01; done; seq 1000; echo done > "$0.ended"'

describe('freezing', () => {
  it('finishes what was begun, says Frozen last, and then nothing', async () => {
    const { guest, directory } = fixture
    const go = `${directory}/go-1`
    const process = guest.request('Spawn', { ...SPAWN, argv: ['sh', '-c', UNTIL_TOLD, go] })
    await process.expect('Spawned')
    await process.expect('Output')
    await freeze()
    const before = guest.receivedBytes
    // The command goes on, and what it writes is kept.
    await writeFile(go, '')
    await appears(`${go}.ended`)
    expect(guest.receivedBytes).toBe(before)
    guest.send('Thaw', 0, {})
    const messages = await process.all()
    expect(output(messages).split('\n').length).toBe(1001)
    expect(messages.at(-1)?.name).toBe('Exited')
  })

  it('answers after the thaw what it was asked before the freeze', async () => {
    const { guest, directory } = fixture
    const write = guest.request('Write', { path: `${directory}/half`, mode: 0o644, user: '', flags: 0 })
    await write.expect('Credit')
    write.send('Data', { bytes: Buffer.from('first ') })
    guest.send('Freeze', 0, { flags: 0 })
    await guest.control.expect('Frozen')
    guest.send('Thaw', 0, {})
    write.send('Data', { bytes: Buffer.from('second') })
    write.send('Eof', {})
    for (;;) {
      const message = await write.next()
      if (message.name === 'Credit') continue
      expect(message).toMatchObject({ name: 'Entry', body: { size: 12n } })
      break
    }
  })

  it('forgets the frozen session at Hello, and keeps its processes', async () => {
    const { guest, directory } = fixture
    const go = `${directory}/go-2`
    const old = guest.request('Spawn', { ...SPAWN, argv: ['sh', '-c', UNTIL_TOLD, go] })
    const { process } = await old.expect('Spawned')
    await old.expect('Output')
    await freeze()
    await guest.hello()
    guest.send('Ping', 0, { token: 7n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 7n })
    const again = guest.request('Attach', { process, offset: 0n })
    await again.expect('Spawned')
    await writeFile(go, '')
    expect(output(await again.all()).split('\n').length).toBe(1002)
    expect(old.waiting).toBe(0)
  })

  it('resets connections of the frozen session at Hello', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const accepted = once(server, 'connection')
    const connection = fixture.guest.request('Connect', { port })
    await connection.expect('Connected')
    const [socket] = (await accepted) as [Socket]
    const failed = once(socket, 'error')
    await freeze()
    await fixture.guest.hello()
    const [error] = (await failed) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNRESET')
    server.close()
  })

  it('keeps a process whose input was on its way, and takes its input again after Hello', async () => {
    const { guest, directory } = fixture
    const go = `${directory}/go-3`
    const command = 'until [ -e "$0" ]; do sleep 0.01; done; wc -c'
    const old = guest.request('Spawn', { ...SPAWN, flags: 4, argv: ['sh', '-c', command, go] })
    const { process } = await old.expect('Spawned')
    const { bytes } = await old.expect('Credit')
    old.send('Data', { bytes: Buffer.alloc(Math.min(bytes, 100_000), 'x') })
    await freeze()
    await guest.hello()
    const again = guest.request('Attach', { process, offset: 0n })
    await again.expect('Spawned')
    const input = guest.request('Stdin', { process })
    await input.expect('Credit')
    input.send('Data', { bytes: Buffer.from('more') })
    await writeFile(go, '')
    input.send('Eof', {})
    const count = Number(output(await again.all()))
    // What a pipe had not taken when the session ended is gone with it.
    expect(count).toBeGreaterThanOrEqual(4)
    expect(count).toBeLessThanOrEqual(100_004)
  })

  it('drops the session at any other message while it is frozen', async () => {
    const { guest } = fixture
    await freeze()
    guest.send('Ping', 0, { token: 1n })
    guest.send('Thaw', 0, {})
    guest.send('Ping', 0, { token: 2n })
    await guest.hello()
    guest.send('Ping', 0, { token: 3n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 3n })
  })

  it.skipIf(process.getuid?.() !== 0)('says whether there is any process but itself', async () => {
    const guest = await GuestProcess.start({ command: ['unshare', '--pid', '--fork', '--kill-child'] })
    try {
      const others = async (): Promise<number> => {
        guest.send('Freeze', 0, { flags: 0 })
        const frozen = await guest.control.expect('Frozen')
        guest.send('Thaw', 0, {})
        return frozen.others
      }
      expect(await others()).toBe(0)
      const cat = guest.request('Spawn', { ...SPAWN, flags: 4, argv: ['cat'] })
      await cat.expect('Spawned')
      expect(await others()).toBe(1)
      cat.send('Eof', {})
      await cat.all()
      while ((await others()) !== 0) await delay(5)
    } finally {
      await guest.end()
    }
  })

  it('takes a thaw without a freeze, and a freeze again after a thaw', async () => {
    const { guest } = fixture
    guest.send('Thaw', 0, {})
    for (let round = 0; round < 20; round++) {
      await freeze()
      guest.send('Thaw', 0, {})
      guest.send('Clock', 0, { realtimeNanoseconds: BigInt(Date.now()) * 1_000_000n })
    }
    guest.send('Ping', 0, { token: 4n })
    expect(await guest.control.expect('Pong')).toEqual({ token: 4n })
  })
})

const CONFIGURE = {
  hostname: '',
  realtimeNanoseconds: 0n,
  entropy: Buffer.alloc(0),
  environment: [],
  workdir: '',
  user: '',
  openFiles: 0,
  pids: 0,
  retainedOutputBytes: 0,
}

describe('a renewed configuration', () => {
  it('confirms nothing that it was not given', async () => {
    const plain = fixture.guest.request('Configure', { ...CONFIGURE, flags: 0 })
    expect(await plain.expect('Done')).toEqual({ value: 0n })
  })

  // A name and an identifier of its own, so that those of the machine under the test stay.
  it.skipIf(process.getuid?.() !== 0)('makes a copy of a machine one of its own', async () => {
    const identifier = `${fixture.directory}/machine-id`
    await writeFile(identifier, `${'0'.repeat(32)}\n`)
    const enter = `mount --bind ${identifier} /etc/machine-id && exec "$0"`
    const guest = await GuestProcess.start({ command: ['unshare', '--mount', '--uts', 'sh', '-c', enter] })
    try {
      const entropy = Buffer.alloc(32, 7)
      // SAFETY: no time, since the clock is that of the machine under the test.
      const renewed = guest.request('Configure', { ...CONFIGURE, hostname: 'child', entropy, flags: 2 })
      expect(await renewed.expect('Done')).toEqual({ value: 5n })
      expect((await guest.exec(['hostname'])).stdout).toBe('child\n')
      const written = await readFile(identifier, 'utf8')
      expect(written).toMatch(/^[0-9a-f]{32}\n$/)
      expect(written).not.toMatch(/^0{32}/)
    } finally {
      await guest.end()
    }
  })
})
