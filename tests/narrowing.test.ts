import { createServer, type AddressInfo } from 'node:net'
import type { Policy, RecordEntry } from '@hearth/contract'
import { Hearth, type EmbeddedSandbox } from '@hearth/engine'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ladder, templateFor } from './support/ladder.ts'

// Says where a connection has arrived.
const server = createServer((socket) => void socket.on('error', () => undefined).end('arrived\n'))
await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as AddressInfo
const entries: RecordEntry[] = []
const hearth = new Hearth({
  recorder: () => ({ add: (entry) => void entries.push(entry) }),
  gateway: { resolve: async () => ['127.0.0.1'] },
})

const allow = (...names: string[]): Policy => ({
  allow: names.map((name) => ({ name, ports: [port], addresses: ['127.0.0.0/8'] })),
})
const WIDE = allow('one.example', 'two.example')
const NARROW: Policy = { allow: [`one.example:${port}`, `three.example:${port}`] }

/** Prints `arrived` or why not. */
const REACH = `
import socket, sys
def reach(where):
    try:
        with socket.create_connection((where, ${port}), 10) as s:
            return s.makefile().read().strip() or 'closed'
    except OSError as error:
        return type(error).__name__
`
const each = (...names: string[]): string => `${REACH}\nfor name in ${JSON.stringify(names)}: print(reach(name))`

for (const { rung, probe } of (await ladder(hearth)).filter((step) => step.rung !== 'simulated')) {
  describe(rung, () => {
    if (!probe.available || !probe.capabilities.narrowing) {
      test('a narrower policy', (context) => context.skip(probe.available ? 'it cannot narrow' : probe.reason))
      return
    }
    const template = templateFor(probe) === 'host' ? 'host' : 'code-interpreter'
    let sandbox: EmbeddedSandbox
    beforeAll(async () => {
      sandbox = await hearth.create({ rung, template, policy: WIDE })
    }, 120_000)
    afterAll(async () => await sandbox.kill())

    const python = async (code: string, policy?: Policy, user?: string): Promise<string> => {
      const options = { ...(policy === undefined ? {} : { policy }), ...(user === undefined ? {} : { user }) }
      const { stdout, stderr, exitCode } = await sandbox.exec(['python3', '-c', code], options)
      if (exitCode !== 0) throw new Error(stderr)
      return stdout
    }

    test('leaves what both allow, and adds nothing', async () => {
      expect(await python(each('one.example', 'two.example', 'three.example'), NARROW)).toBe(
        'arrived\ngaierror\ngaierror\n',
      )
      expect(await python(each('one.example', 'two.example'))).toBe('arrived\narrived\n')
      expect(await python(each('one.example'), {})).toBe('gaierror\n')
    })

    test('holds for what has left the session, and is recorded with the command', async () => {
      entries.length = 0
      const detached = `
import os, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ${REACH.trim().replaceAll('\n', '\n        ')}
        time.sleep(0.1)
        os.write(write, (reach('one.example') + ' ' + reach('two.example')).encode())
        os._exit(0)
    os._exit(0)
os.close(write); os.wait()
print(os.read(read, 100).decode())`
      expect(await python(detached, NARROW)).toBe('arrived gaierror\n')
      const refused = entries.find((entry) => entry.kind === 'refusal' && entry.name === 'two.example')
      expect(refused).toMatchObject({ process: expect.any(Number), refusal: 'name_not_allowed' })
    })

    test('an address that another command was given leads nowhere', async () => {
      const addresses = await python(`import socket\nprint(socket.gethostbyname('two.example'))`)
      expect(await python(each(addresses.trim()), NARROW)).toBe('ConnectionRefusedError\n')
    })

    test('neither joins another network nor makes one', async () => {
      const attempts = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for path in ['/proc/1/ns/net'] + [f'/proc/{p}/ns/net' for p in os.listdir('/proc') if p.isdigit()]:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        continue
    assert libc.setns(descriptor, 0x40000000) != 0, path
assert libc.unshare(0x10000000) != 0, 'user'
assert libc.unshare(0x40000000) != 0, 'network'
assert libc.unshare(0x20000) != 0, 'mounts'
print('held')`
      expect(await python(attempts, NARROW)).toBe('held\n')
    })

    test('takes no hold on a process with wider rights', async () => {
      await using sibling = await sandbox.spawn(['sleep', '60'])
      const attempts = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for pid in [${sibling.pid}, 1]:
    for request in [16, 0x4206]:
        assert libc.ptrace(request, pid, 0, 0) != 0, (pid, request)
    try:
        with open(f'/proc/{pid}/mem', 'r+b', 0) as memory, open(f'/proc/{pid}/maps') as maps:
            line = next(line for line in maps if ' rw-p ' in line)
            memory.seek(int(line.split('-')[0], 16))
            memory.write(b'x')
            raise AssertionError(f'wrote the memory of {pid}')
    except (OSError, StopIteration):
        pass
    base = ctypes.create_string_buffer(16)
    assert libc.syscall(438, libc.syscall(434, pid, 0), 0, 0) < 0, 'pidfd_getfd'
print('held')`
      expect(await python(attempts, NARROW)).toBe('held\n')
      await sibling.kill()
    })

    test('root of a kernel of its own finds neither its disks nor its settings', async () => {
      const attempts = `
import os, stat
def writable(path):
    try:
        os.close(os.open(path, os.O_WRONLY)); return True
    except OSError:
        return False
disks = [e.path for e in os.scandir('/dev') if stat.S_ISBLK(e.stat(follow_symlinks=False).st_mode)]
print(len(disks), writable('/proc/sys/kernel/core_pattern'), writable('/proc/sys/kernel/modprobe'))`
      expect(await python(attempts, NARROW, 'root')).toBe('0 False False\n')
    })

    test('stays narrow when the policy of the sandbox becomes wider', async () => {
      await sandbox.setPolicy(allow('one.example'))
      const waiting = await sandbox.spawn(
        [
          'python3',
          '-uc',
          `${REACH}\nprint('ready')\ninput()\nfor n in ['one.example', 'two.example']: print(reach(n))`,
        ],
        { policy: { allow: [`one.example:${port}`] }, stdin: 'pipe' },
      )
      let text = ''
      for await (const { data } of waiting.output) {
        text += Buffer.from(data).toString()
        if (text !== 'ready\n') continue
        await sandbox.setPolicy(WIDE)
        await waiting.write('\n')
      }
      expect(text).toBe('ready\narrived\ngaierror\n')
    })

    test.skipIf(!probe.capabilities.reconnect)('is kept when another process takes the sandbox up', async () => {
      const code = `${REACH}\nimport time\ntime.sleep(1.5)\nprint(reach('one.example'), reach('two.example'))`
      const running = await sandbox.spawn(['python3', '-c', code], { policy: NARROW })
      const { id } = running
      await running.detach()
      await sandbox.release()
      sandbox = await hearth.adopt(sandbox.id)
      const adopted = await sandbox.attach(id)
      let text = ''
      for await (const { data } of adopted.output) text += Buffer.from(data).toString()
      expect(text).toBe('arrived gaierror\n')
    })
  })
}

test('the simulated shell keeps to both policies too', async () => {
  await using sandbox = await hearth.create({ rung: 'simulated', policy: WIDE })
  const run = async (name: string, policy?: Policy): Promise<string> =>
    (await sandbox.exec(`curl -sS http://${name}:${port}/`, policy === undefined ? {} : { policy })).stderr
  expect(await run('two.example', NARROW)).toMatch(/resolve/)
  expect(await run('two.example')).not.toMatch(/resolve/)
})

afterAll(async () => {
  await hearth.dispose()
  server.close()
}, 120_000)
