// Writes the seed corpus: one small, valid input of each kind. Run it after the table of messages changed.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync, mkdirSync, linkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ENCODERS,
  MESSAGE_TYPES,
  PROTOCOL_VERSION,
  type MessageName,
  type Messages,
} from '../../packages/engine/src/link/messages.gen.ts'
import { PayloadWriter } from '../../packages/engine/src/link/wire.ts'

const corpus = new URL('corpus/', import.meta.url).pathname

function frame<Name extends MessageName>(name: Name, channel: number, body: Messages[Name]): Buffer {
  const writer = new PayloadWriter()
  ENCODERS[name](body, writer)
  return writer.finish(MESSAGE_TYPES[name], channel)
}

const hello = frame('Hello', 0, { version: PROTOCOL_VERSION, nonce: Buffer.from('nonce') })
const spawn = {
  flags: 4,
  argv: ['sh', '-c', 'x'],
  environment: ['A=1'],
  cwd: '/',
  user: '',
  timeoutMilliseconds: 0n,
  rows: 0,
  cols: 0,
  policy: '',
}
const configure = {
  hostname: 'h',
  realtimeNanoseconds: 1n,
  entropy: Buffer.from('e'),
  environment: ['A=1'],
  workdir: '/w',
  user: 'u',
  openFiles: 1,
  pids: 1,
  retainedOutputBytes: 1,
  flags: 1,
}
const messages: Record<string, readonly Buffer[]> = {
  hello: [hello],
  ping: [hello, frame('Ping', 0, { token: 1n })],
  clock: [hello, frame('Clock', 0, { realtimeNanoseconds: 1n })],
  freeze: [hello, frame('Freeze', 0, { flags: 1 }), frame('Thaw', 0, {}), frame('Freeze', 0, { flags: 0 }), hello],
  configure: [hello, frame('Configure', 1, configure)],
  spawn: [hello, frame('Spawn', 1, spawn), frame('Data', 1, { bytes: Buffer.from('abc') }), frame('Eof', 1, {})],
  files: [
    hello,
    frame('Stat', 1, { path: '/a', flags: 1 }),
    frame('Read', 2, { path: '/a', offset: 0n, length: 5n }),
    frame('Credit', 2, { bytes: 9 }),
    frame('Write', 3, { path: '/b', mode: 420, user: '', flags: 0 }),
    frame('Close', 3, {}),
  ],
  others: [
    hello,
    frame('ListProcesses', 1, {}),
    frame('Connect', 2, { port: 80 }),
    frame('Watch', 3, { path: '/', flags: 1 }),
    hello,
  ],
  network: [
    hello,
    frame('Network', 1, { authority: 'certificate' }),
    frame('Address', 2 ** 31, { address: 0x7f400001, ports: Buffer.from([80, 0]) }),
    frame('Data', 2 ** 31 + 1, { bytes: Buffer.from('late') }),
  ],
  lost: [hello, Buffer.alloc(20, 0xff), hello, frame('Statistics', 4, {})],
}
for (const [name, frames] of Object.entries(messages))
  writeFileSync(join(corpus, 'messages', name), Buffer.concat(frames))

const directory = mkdtempSync(join(tmpdir(), 'hearth-seeds-'))
mkdirSync(join(directory, 'a'))
writeFileSync(join(directory, 'a/file'), 'content')
writeFileSync(join(directory, 'a', 'n'.repeat(120)), 'long')
linkSync(join(directory, 'a/file'), join(directory, 'a/hard'))
symlinkSync('a/file', join(directory, 'soft'))
for (const format of ['gnu', 'pax', 'ustar']) {
  const files = format === 'ustar' ? ['a/file', 'a/hard', 'soft'] : ['a', 'soft']
  const archive = execFileSync('tar', [
    '-C',
    directory,
    `--format=${format}`,
    '--sort=name',
    '--mtime=@1',
    '-b1',
    '-cf',
    '-',
    ...files,
  ])
  writeFileSync(join(corpus, 'tar', format), archive)
}
rmSync(directory, { recursive: true })

writeFileSync(
  join(corpus, 'passwd', 'usual'),
  '\u0080root:x:0:0:root:/root:/bin/sh\nu:x:1000:1000::/home/u:\nroot:x:0:\nwheel:x:10:root,u\n',
)
writeFileSync(
  join(corpus, 'passwd', 'odd'),
  '\u0040::::::\nroot:x:99999999999:1\n:\n\nwheel:x:abc:root\nwheel:x:4294967295:,,root\n',
)

const question = (name: string, tail: string): Buffer =>
  Buffer.concat([
    Buffer.from('abcd01000001000000000000', 'hex'),
    ...name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from(`00${tail}`, 'hex'),
  ])
const questions = {
  address: question('api.example.com', '00010001'),
  sixth: question('API.Example.com', '001c0001'),
  text: question('a.b.c.d', '00100001'),
  extended: question('api.example.com', '0001000100002904d000000000000c000a00080102030405060708'),
  chaos: question('version.bind', '00100003'),
  pointer: Buffer.from('abcd01000001000000000000c00c00010001', 'hex'),
}
mkdirSync(join(corpus, 'dns'), { recursive: true })
for (const [name, packet] of Object.entries(questions)) writeFileSync(join(corpus, 'dns', name), packet)

// Packets of runsc 20240729.
const packets = {
  clone: '08000200000000000a0c08c79388e8edcbcff41820021803200328efaf86e8edcbcff41830808201',
  execve: `08000300000000000a0c08c79388e8edcbcff418200312022f78${['ls', '-l', '/'].map((word) => `1a0${word.length}${Buffer.from(word).toString('hex')}`).join('')}2203413d31`,
  exit: '08000400050000000a0c08d9b2f4c5eecbcff4182005108006',
}
mkdirSync(join(corpus, 'seccheck'), { recursive: true })
for (const [name, packet] of Object.entries(packets))
  writeFileSync(join(corpus, 'seccheck', name), Buffer.from(packet, 'hex'))
