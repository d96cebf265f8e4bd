import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { GuestProcess, present, SPAWN, type Conversation, type ExecResult } from './guest-process.ts'

const ADDRESS = 0x7f40_0107
const PORT = 8123
let guest: GuestProcess

// SAFETY: the guest writes to /etc, so that it gets one of its own, and a network too.
const NAMESPACES = ['--mount', '--net', '--pid', '--fork', '--mount-proc']
const ALONE = ['unshare', ...NAMESPACES, 'sh', '-c', 'mount -t tmpfs none /etc && exec "$0"']

beforeAll(() => {
  execFileSync('make', ['-s', '-C', fileURLToPath(new URL('..', import.meta.url)), 'sanitized'], { stdio: 'inherit' })
}, 180_000)
beforeEach(async () => {
  guest = await GuestProcess.start({ command: ALONE, environment: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' } })
})
afterEach(async () => {
  await guest.end()
})

async function begin(authority = ''): Promise<void> {
  await guest.request('Network', { authority }).expect('Done')
}

function ports(...numbers: number[]): Uint8Array {
  return new Uint8Array(Uint16Array.from(numbers).buffer)
}

/** Answers every Lookup with what the table says, and counts them. */
function answerLookups(table: Record<string, number>, offered = ports(PORT)): string[] {
  const asked: string[] = []
  guest.opened = (conversation, message) => {
    if (message.name !== 'Lookup') return
    asked.push(message.body.name)
    const address = table[message.body.name] ?? 0
    conversation.send('Address', { address, ports: address === 0 ? ports() : offered })
  }
  return asked
}

async function python(code: string, user = ''): Promise<ExecResult> {
  const result = await guest.exec(['/usr/bin/python3', '-c', code], { user })
  if (result.exited?.code !== 0) throw new Error(result.stderr)
  return result
}

/** Asks the resolver with raw bytes, as datagrams or on a stream; hex in, hex out. */
function ask(packets: readonly string[], kind: 'datagram' | 'stream' = 'datagram'): string {
  const list = JSON.stringify(packets)
  if (kind === 'datagram')
    return `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(('127.0.0.53', 53))
for p in ${list}:
    s.send(bytes.fromhex(p)); print(s.recv(600).hex())`
  return `
import socket, struct
s = socket.create_connection(('127.0.0.53', 53), 5)
s.sendall(b''.join(struct.pack('>H', len(p) // 2) + bytes.fromhex(p) for p in ${list}))
f = s.makefile('rb')
for p in ${list}:
    print(f.read(struct.unpack('>H', f.read(2))[0]).hex())`
}

function query(name: string, type = 1, flags = '0100', count = '0001', kind = '0001'): string {
  const labels = (name === '' ? [] : name.split('.')).map((label) =>
    Buffer.from([label.length, ...Buffer.from(label, 'latin1')]).toString('hex'),
  )
  return `abcd${flags}${count}000000000000${labels.join('')}00${type.toString(16).padStart(4, '0')}${kind}`
}

const code = (answer: string): number => Number.parseInt(answer.slice(6, 8), 16) & 15
const answers = (answer: string): number => Number.parseInt(answer.slice(12, 16), 16)

async function collectOutput(process: number): Promise<string> {
  let text = ''
  for (const message of await guest.request('Attach', { process, offset: 0n }).all()) {
    if (message.name === 'Output') text += Buffer.from(message.body.bytes).toString()
  }
  return text
}

describe('the resolver', () => {
  it('gives the address that the host says, also over a stream, and asks once', async () => {
    await begin()
    const asked = answerLookups({ 'allowed.example': ADDRESS })
    const { stdout } = await python(ask([query('allowed.example'), query('ALLOWED.example')]))
    const streamed = await python(ask([query('allowed.example'), query('other.example')], 'stream'))
    const lines = [...stdout.trim().split('\n'), ...streamed.stdout.trim().split('\n')]
    expect(lines.map(code)).toEqual([0, 0, 0, 3])
    expect(lines.slice(0, 3).every((line) => line.endsWith('7f400107'))).toBe(true)
    expect(asked).toEqual(['allowed.example', 'other.example'])
    expect((await guest.exec(['/bin/cat', '/etc/resolv.conf'])).stdout).toBe('nameserver 127.0.0.53\n')
  })

  it('has nothing to say but addresses of hosts, and survives what is no question', async () => {
    await begin()
    const asked = answerLookups({ 'allowed.example': ADDRESS })
    const { stdout } = await python(
      ask([
        query('allowed.example', 28),
        query('allowed.example', 16),
        query('secret.allowed.example', 16),
        query('allowed.example', 65),
        query('allowed.example', 1, '0100', '0001', '0003'),
        query('allowed.example', 1, '2800'),
        query('allowed.example', 1, '0100', '0002'),
        query('a b.example'),
        query('', 1),
        `${query('allowed.example').slice(0, 40)}`,
        `abcd01000001000000000000c00c00010001`,
        `abcd010000010000000000003f${'61'.repeat(20)}`,
        query(`${'a'.repeat(63)}.`.repeat(4).slice(0, -1)),
      ]),
    )
    const lines = stdout.trim().split('\n')
    expect(lines.map(code)).toEqual([0, 0, 0, 0, 5, 4, 1, 3, 3, 1, 1, 1, 1])
    expect(lines.map(answers).every((count) => count === 0)).toBe(true)
    expect(asked).toEqual([])
  })

  it('answers at most so many questions at once, and fails at once without a host', async () => {
    await begin()
    const conversations: Conversation[] = []
    guest.opened = (conversation) => conversations.push(conversation)
    const flood = `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); s.connect(('127.0.0.53', 53))
# All answers come at once, and a datagram for which there is no room is lost.
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
for i in range(300):
    p = bytes.fromhex('${query('n000.example')}').replace(b'n000', b'n%03d' % i); s.send(p)
    if i >= 256: print(s.recv(600).hex())
print('full', flush=True); n = 0
while n < 256:
    n += 1; print(s.recv(600).hex())`
    const running = guest.exec(['/usr/bin/python3', '-c', flood])
    while (conversations.length < 256) await new Promise((resolve) => setTimeout(resolve, 10))
    // A new session: the questions of the old one fail.
    await guest.hello()
    const attached = await collectOutput(1)
    expect(attached.match(/^abcd8182/gm)?.length).toBe(300)
    void running
    const { stdout } = await python(ask([query('late.example')]))
    expect(code(stdout.trim())).toBe(2)
  })
})

describe('connections', () => {
  it('are carried both ways with their ends, and say which command they belong to', async () => {
    await begin()
    answerLookups({ 'allowed.example': ADDRESS })
    const lookup = present(guest.opened)
    const dialed: unknown[] = []
    let got = Buffer.alloc(0)
    guest.opened = (conversation, message) => {
      lookup(conversation, message)
      if (message.name !== 'Dial') return
      dialed.push(message.body)
      void (async () => {
        for (;;) {
          const next = await conversation.next()
          if (next.name === 'Data') got = Buffer.concat([got, next.body.bytes])
          if (next.name !== 'Eof') continue
          conversation.send('Data', { bytes: Buffer.from(`had ${got.length}`) })
          conversation.send('Eof', {})
          return
        }
      })()
    }
    const talk = (count: number): string => `
import socket
s = socket.create_connection(('allowed.example', ${PORT}), 5)
s.sendall(b'x' * ${count}); s.shutdown(socket.SHUT_WR)
print(s.makefile('rb').read().decode())`
    const first = await python(talk(3_000_000))
    expect(first.stdout.trim()).toBe('had 3000000')
    const second = await python(talk(1), '65534:65534')
    expect(second.stdout.trim()).toBe('had 3000001')
    const mapped = await python(talk(1).replace('allowed.example', '::ffff:127.64.1.7'))
    expect(mapped.stdout.trim()).toBe('had 3000002')
    // Another command has a socket too.
    const server = guest.request('Spawn', {
      ...SPAWN,
      argv: [
        '/usr/bin/python3',
        '-c',
        "import socket; s = socket.create_server(('', 9)); print('up', flush=True); s.accept()",
      ],
    })
    await server.expect('Spawned')
    await server.expect('Output')
    const beside = await python(talk(1), '65534:65534')
    const commands = [first, second, mapped, beside]
    expect(dialed).toEqual(commands.map(({ process }) => ({ address: ADDRESS, port: PORT, process, scope: 0 })))
  })

  it('are reset when the host closes them, and refused on other ports, addresses and without a host', async () => {
    await begin()
    answerLookups({ 'allowed.example': ADDRESS })
    const lookup = present(guest.opened)
    guest.opened = (conversation, message) => {
      lookup(conversation, message)
      if (message.name === 'Dial') conversation.send('Close', {})
    }
    const attempt = `
import socket
def t(a, p):
    try:
        s = socket.create_connection((a, p), 5); print('end' if s.recv(1) == b'' else 'data')
    except Exception as e: print(type(e).__name__)
`
    const { stdout } = await python(
      `${attempt}t('allowed.example', ${PORT}); t('allowed.example', 22); t('127.64.9.9', ${PORT}); t('203.0.113.1', 80)`,
    )
    expect(stdout.trim().split('\n')).toEqual([
      'ConnectionResetError',
      'ConnectionRefusedError',
      'ConnectionRefusedError',
      'OSError',
    ])
    await guest.hello()
    const orphaned = await python(`${attempt}t('127.64.1.7', ${PORT})`)
    expect(orphaned.stdout.trim()).toBe('ConnectionResetError')
  })

  it('to a name go where the host says now', async () => {
    await begin()
    const table: Record<string, number> = { 'one.example': ADDRESS, 'two.example': ADDRESS + 1 }
    const asked = answerLookups(table)
    await python(ask([query('one.example'), query('two.example')]))
    table['one.example'] = 0
    await begin()
    const { stdout } = await python(ask([query('one.example'), query('two.example')]))
    expect(stdout.trim().split('\n').map(code)).toEqual([3, 0])
    expect(asked.toSorted()).toEqual(['one.example', 'one.example', 'one.example', 'two.example', 'two.example'])
  })
})

describe('bounds', () => {
  it('of names, and of listeners', async () => {
    await begin()
    let given = 0
    let offered = ports(PORT)
    guest.opened = (conversation, message) => {
      if (message.name === 'Lookup') conversation.send('Address', { address: ADDRESS + 16 + given++, ports: offered })
    }
    const many = (name: string, count: number): string => `
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(10); s.connect(('127.0.0.53', 53)); codes = []
for i in range(${count}):
    s.send(bytes.fromhex('${query(`${name}0000.example`)}').replace(b'0000', b'%04d' % i)); codes.append(s.recv(600)[3] & 15)
print(codes.index(2) if 2 in codes else 'all')`
    expect((await python(many('n', 1025))).stdout.trim()).toBe('1024')
    // They are forgotten when the host says so.
    guest.opened = (conversation) => conversation.send('Address', { address: 0, ports: ports() })
    await begin()
    offered = ports(...Array.from({ length: 256 }, (_, index) => 2000 + index))
    guest.opened = (conversation, message) => {
      if (message.name === 'Lookup') conversation.send('Address', { address: ADDRESS + 16 + given++, ports: offered })
    }
    const { stdout } = await python(many('m', 17))
    // A machine that allows fewer open files has fewer.
    expect(Number(stdout.trim())).toBeLessThanOrEqual(16)
    expect(Number(stdout.trim())).toBeGreaterThan(0)
  })

  it('of connections: further ones wait', async () => {
    await begin()
    const conversations: Conversation[] = []
    answerLookups({ 'allowed.example': ADDRESS })
    const lookup = present(guest.opened)
    guest.opened = (conversation, message) => {
      lookup(conversation, message)
      if (message.name === 'Dial') conversations.push(conversation)
    }
    const running = guest.exec([
      '/usr/bin/python3',
      '-c',
      `
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1100, 1100))
all = [socket.create_connection(('allowed.example', ${PORT}), 5) for i in range(1030)]
for s in all:
    s.settimeout(20)
    try: s.recv(1)
    except ConnectionResetError: pass
print('done')`,
    ])
    while (conversations.length < 1024) await new Promise((resolve) => setTimeout(resolve, 10))
    await guest.exec(['/bin/true'])
    expect(conversations.length).toBe(1024)
    guest.opened = (conversation) => conversation.send('Close', {})
    for (const conversation of conversations) conversation.send('Close', {})
    expect((await running).stdout.trim()).toBe('done')
  })
})
