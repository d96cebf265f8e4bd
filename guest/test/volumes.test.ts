import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { seededRandom } from '../../tests/support/seeded-random.ts'
import { BASE, encode, VolumeServer } from './volume-server.ts'

const FUSE = {
  lookup: 1,
  getattr: 3,
  setattr: 4,
  readlink: 5,
  symlink: 6,
  mknod: 8,
  mkdir: 9,
  unlink: 10,
  rename: 12,
  link: 13,
  read: 15,
  write: 16,
  setxattr: 21,
  getxattr: 22,
  readdir: 28,
  create: 35,
  drop: 0x1000,
} as const
const [EPERM, ENOENT, EXDEV, ENODEV, EINVAL, EROFS, ENOSYS, ELOOP, EOPNOTSUPP, ESTALE] = [
  1, 2, 18, 19, 22, 30, 38, 40, 95, 116,
]
const SECRET = 'of the host'

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length)
  for (const [index, value] of values.entries()) bytes.writeUInt32LE(value, 4 * index)
  return bytes
}

function named(head: Buffer, ...names: string[]): Buffer {
  return Buffer.concat([head, ...names.map((name) => Buffer.from(`${name}\0`))])
}

/** fh, offset, size, flags, owner, flags. */
function reading(size: number, offset = 0): Buffer {
  return words(0, 0, offset, 0, size, 0, 0, 0, 0, 0)
}

function server(): VolumeServer {
  return new VolumeServer((volumes) => {
    writeFileSync(join(volumes, 'secret'), SECRET)
    for (const [name, content] of [
      ['0/file', 'content'],
      ['1/file', 'for reading'],
    ] as const) {
      writeFileSync(join(volumes, name), content)
      chownSync(join(volumes, name), BASE, BASE)
    }
    mkdirSync(join(volumes, '0/directory'))
    chownSync(join(volumes, '0/directory'), BASE, BASE)
    symlinkSync('/', join(volumes, '0/root'))
    symlinkSync('../secret', join(volumes, '0/beside'))
    symlinkSync('../../..', join(volumes, '0/up'))
    execFileSync('mkfifo', [join(volumes, '0/pipe')])
  })
}

describe.skipIf(process.getuid?.() !== 0)('the server of volumes', () => {
  test('reads, writes and makes files of the sandbox’s own users', async () => {
    using volumes = server()
    const { body } = await volumes.ask({ opcode: FUSE.read, path: 'file', arguments: reading(100) })
    expect(body.toString()).toBe('content')
    expect((await volumes.ask({ opcode: FUSE.mkdir, arguments: named(words(0o750, 0), 'made'), uid: 12 })).errno).toBe(
      0,
    )
    const made = lstatSync(join(volumes.directory, 'volumes/0/made'))
    expect([made.uid, made.gid, made.mode & 0o7777]).toEqual([BASE + 12, BASE + 12, 0o750])
    const outside = { opcode: FUSE.mkdir, arguments: named(words(0o750, 0), 'other'), uid: 70_000 }
    expect((await volumes.ask(outside)).errno).toBe(EINVAL)
    expect(existsSync(join(volumes.directory, 'volumes/0/other'))).toBe(false)
  })

  test.each([
    '..',
    '../secret',
    '../1/file',
    'directory/../../secret',
    '/etc/passwd',
    'root/etc/passwd',
    'beside',
    'up',
    'up/etc',
    'root',
  ])('the path %s leads nowhere', async (path) => {
    using volumes = server()
    for (const opcode of [FUSE.read, FUSE.write, FUSE.readdir, FUSE.setattr]) {
      const bytes = opcode === FUSE.setattr ? Buffer.concat([words(8, 0, 0, 0, 0, 0), Buffer.alloc(64)]) : reading(0)
      const { errno, body } = await volumes.ask({ opcode, path, arguments: bytes })
      expect([EXDEV, ELOOP, ENOENT, 20, EINVAL], `${opcode}`).toContain(errno)
      expect(body.length).toBe(0)
    }
    const { errno } = await volumes.ask({ opcode: FUSE.lookup, path, arguments: named(words(), 'passwd') })
    expect([EXDEV, ELOOP, ENOENT, 20]).toContain(errno)
    expect(readFileSync(join(volumes.directory, 'volumes/secret'), 'utf8')).toBe(SECRET)
  })

  test.each(['..', '.', '', 'a/b', '../secret', 'x'.repeat(256)])('the name %s is none', async (name) => {
    using volumes = server()
    const calls = [
      { opcode: FUSE.lookup, arguments: named(words(), name) },
      { opcode: FUSE.unlink, arguments: named(words(), name) },
      { opcode: FUSE.mkdir, arguments: named(words(0o777, 0), name) },
      { opcode: FUSE.create, arguments: named(words(0, 0o100_666, 0, 0), name) },
      { opcode: FUSE.rename, arguments: named(words(0, 0), 'file', name) },
      { opcode: FUSE.rename, arguments: named(words(0, 0), name, 'there') },
      { opcode: FUSE.link, other: 'file', arguments: named(words(0, 0), name) },
      { opcode: FUSE.symlink, arguments: named(words(), name, 'target') },
    ]
    for (const call of calls) expect((await volumes.ask(call)).errno).toBe(EINVAL)
    expect(readdirSync(join(volumes.directory, 'volumes'))).toEqual(['0', '1', 'secret'])
    expect(readdirSync(join(volumes.directory, 'volumes/0')).length).toBe(6)
  })

  test('makes no devices, waits for no pipe and writes nothing where it may only read', async () => {
    using volumes = server()
    const device = { opcode: FUSE.mknod, arguments: named(words(0o020_666, 0x103, 0, 0), 'null') }
    expect((await volumes.ask(device)).errno).toBe(EPERM)
    expect((await volumes.ask({ opcode: FUSE.read, path: 'pipe', arguments: reading(10) })).errno).toBe(EINVAL)
    const write = { opcode: FUSE.write, path: 'file', arguments: Buffer.concat([reading(1), Buffer.from('x')]) }
    expect((await volumes.ask(write)).errno).toBe(0)
    expect((await volumes.ask({ ...write, volume: 1 })).errno).toBe(EROFS)
    expect((await volumes.ask({ ...write, volume: 2 })).errno).toBe(ENODEV)
    expect((await volumes.ask({ ...write, volume: 65_535 })).errno).toBe(ENODEV)
    const attribute = named(words(1, 0), 'security.capability', 'x')
    expect((await volumes.ask({ opcode: FUSE.setxattr, path: 'file', arguments: attribute })).errno).toBe(EOPNOTSUPP)
  })

  test('large answers lie in the window, where there is such a part', async () => {
    using volumes = server()
    const large = Buffer.alloc(20_000, 'large')
    writeFileSync(join(volumes.directory, 'volumes/0/large'), large)
    chownSync(join(volumes.directory, 'volumes/0/large'), BASE, BASE)
    const read = { opcode: FUSE.read, path: 'large', arguments: reading(100_000) }
    expect(await volumes.ask({ ...read, part: 8 })).toEqual({ errno: 1, body: words(large.length) })
    for (const part of [0, 9, 65_535]) expect((await volumes.ask({ ...read, part })).body.equals(large)).toBe(true)
    expect((await volumes.ask({ ...read, path: 'file', part: 1 })).body.toString()).toBe('content')
  })

  test('says how many files it holds, and lets go of them', async () => {
    using volumes = server()
    expect((await volumes.ask({ opcode: FUSE.unlink, hold: 3, arguments: named(words(), 'file') })).errno).toBe(0)
    expect(volumes.heldFiles()).toBe(1)
    const read = { opcode: FUSE.read, held: 3, arguments: reading(100) }
    expect((await volumes.ask(read)).body.toString()).toBe('content')
    expect((await volumes.ask({ ...read, held: 4 })).errno).toBe(ESTALE)
    expect((await volumes.ask({ ...read, held: 0xffff_ffff })).errno).toBe(ESTALE)
    // Behind what is not answered comes something that is.
    const drop = encode({ opcode: FUSE.drop, arguments: words(3, 9, 0, 0xffff_ffff) })
    const reply = await volumes.send(Buffer.concat([drop, encode(read)]))
    expect(reply?.errno).toBe(ESTALE)
    expect(volumes.heldFiles()).toBe(0)
  })

  test.each([
    ['too short', Buffer.from([2, 0, 0, 0, 0, 0, 0, 0])],
    ['too long', Buffer.from([255, 255, 255, 127])],
    [
      'with a path that is longer than itself',
      (() => {
        const bytes = encode({ opcode: FUSE.getattr })
        bytes.writeUInt16LE(100, 34)
        return bytes
      })(),
    ],
  ])('ends at what is no request: %s', async (_, bytes) => {
    using volumes = server()
    expect(await volumes.send(bytes)).toBeNull()
    expect(volumes.ended).toBe(true)
  })

  test('answers anything else, and touches nothing beside its volumes', { timeout: 60_000 }, async () => {
    using volumes = server()
    const random = seededRandom(7)
    const below = (end: number): number => Math.floor(random() * end)
    const pick = (list: readonly string[]): string => list[below(list.length)] ?? ''
    const paths = ['', 'file', 'directory', 'up', 'root/tmp', '../secret', 'a\0b', 'x/y', 'new', 'pipe', '..']
    const names = ['new', 'other', '..', 'file', 'directory', '']
    for (let round = 0; round < 4000; round++) {
      const noise = Buffer.from(Array.from({ length: below(64) }, () => below(256)))
      const numbers = words(...Array.from({ length: below(10) }, () => below(4)))
      const reply = await volumes.ask({
        opcode: below(50),
        path: pick(paths),
        other: pick(paths),
        hold: below(5),
        held: below(3) === 0 ? below(5) : 0,
        volume: below(3),
        arguments: named(below(2) === 0 ? noise : numbers, pick(names), pick(names)),
      })
      expect(reply.errno).toBeGreaterThanOrEqual(0)
    }
    expect((await volumes.ask({ opcode: 49 })).errno).toBe(ENOSYS)
    expect(readFileSync(join(volumes.directory, 'volumes/secret'), 'utf8')).toBe(SECRET)
    expect(readdirSync(volumes.directory).toSorted()).toEqual(['held', 'volumes'])
  })
})
