import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { DEFAULT_MODE, present, type Conversation } from './guest-process.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
let root = ''
beforeEach(() => (root = mkdtempSync(join(fixture.directory, 'files-'))))
const END = 0xffff_ffff_ffff_ffffn

async function write(
  path: string,
  content: Uint8Array,
  options: { readonly mode?: number; readonly user?: string; readonly flags?: number } = {},
) {
  const conversation = fixture.guest.request('Write', { path, mode: DEFAULT_MODE, user: '', flags: 0, ...options })
  return upload(conversation, content)
}

/** Sends within the credit; gives the last message. */
async function upload(conversation: Conversation, content: Uint8Array) {
  let credit = 0
  let at = 0
  for (;;) {
    if (at === content.length && at >= 0) {
      conversation.send('Eof', {})
      at = -1
    }
    while (at >= 0 && credit > 0 && at < content.length) {
      const length = Math.min(credit, 65_536, content.length - at)
      conversation.send('Data', { bytes: content.subarray(at, at + length) })
      at += length
      credit -= length
    }
    if (at === content.length) continue
    const message = await conversation.next()
    if (message.name !== 'Credit') return message
    credit += message.body.bytes
  }
}

async function read(path: string, offset = 0n, length = END) {
  const messages = await fixture.guest.request('Read', { path, offset, length }).all()
  const bytes = Buffer.concat(
    messages.map((message) => (message.name === 'Data' ? message.body.bytes : new Uint8Array())),
  )
  return { bytes, last: present(messages.at(-1)), first: present(messages[0]) }
}

describe('files', () => {
  it('writes and reads 20 MB unharmed', async () => {
    const content = Buffer.alloc(20_000_000)
    for (let at = 0; at < content.length; at += 4) content.writeUInt32LE((at * 2654435761) >>> 0, at)
    expect((await write(`${root}/large`, content)).name).toBe('Entry')
    const { bytes, first } = await read(`${root}/large`)
    expect(first).toMatchObject({ name: 'Entry', body: { type: 1, size: 20_000_000n } })
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(createHash('sha256').update(content).digest('hex'))
  })

  it('reads ranges, and nothing beyond the end', async () => {
    writeFileSync(`${root}/range`, '0123456789')
    expect((await read(`${root}/range`, 3n, 4n)).bytes.toString()).toBe('3456')
    expect((await read(`${root}/range`, 8n)).bytes.toString()).toBe('89')
    expect((await read(`${root}/range`, 100n)).bytes.toString()).toBe('')
    expect((await read(`${root}/range`, 0n, 0n)).last).toMatchObject({ name: 'Done', body: { value: 0n } })
  })

  it('refuses what is no regular file, without waiting', async () => {
    execFileSync('mkfifo', [`${root}/fifo`])
    expect((await read(`${root}/fifo`)).last).toMatchObject({ name: 'Failed', body: { errno: 22 } })
    expect((await read(root)).last).toMatchObject({ name: 'Failed', body: { errno: 21 } })
    expect((await read(`${root}/absent`)).last).toMatchObject({ name: 'Failed', body: { errno: 2 } })
    expect((await write(`${root}/fifo`, Buffer.from('x'), { flags: 2 })).name).toBe('Failed')
    expect(await write(root, Buffer.from('x'))).toMatchObject({ name: 'Failed', body: { errno: 21 } })
    expect((await read('/dev/zero')).last.name).toBe('Failed')
  })

  it('keeps the mode of a replaced file, and gives a new one to the user', async () => {
    writeFileSync(`${root}/mode`, 'old', { mode: 0o750 })
    await write(`${root}/mode`, Buffer.from('new'))
    expect(statSync(`${root}/mode`).mode & 0o7777).toBe(0o750)
    await write(`${root}/a/b/c`, Buffer.from('deep'), { flags: 1, user: 'daemon', mode: 0o600 })
    expect(statSync(`${root}/a/b/c`)).toMatchObject({ uid: 1, gid: 1 })
    expect(statSync(`${root}/a`)).toMatchObject({ uid: 1 })
    expect(statSync(`${root}/a/b/c`).mode & 0o7777).toBe(0o600)
    expect(await write(`${root}/x/y`, Buffer.from('x'))).toMatchObject({ name: 'Failed', body: { errno: 2 } })
  })

  it('replaces what a symlink points at, not the symlink', async () => {
    writeFileSync(`${root}/target`, 'old')
    symlinkSync('target', `${root}/link`)
    await write(`${root}/link`, Buffer.from('new'))
    expect(readFileSync(`${root}/target`, 'utf8')).toBe('new')
    const link = await fixture.guest.request('Stat', { path: `${root}/link`, flags: 1 }).expect('Entry')
    expect(link).toMatchObject({ type: 3, target: 'target' })
  })

  it('appends, and writes exclusively', async () => {
    await write(`${root}/log`, Buffer.from('one '), { flags: 2 })
    await write(`${root}/log`, Buffer.from('two'), { flags: 2 })
    expect(readFileSync(`${root}/log`, 'utf8')).toBe('one two')
    expect(await write(`${root}/log`, Buffer.from('three'), { flags: 4 })).toMatchObject({
      name: 'Failed',
      body: { errno: 17 },
    })
    await write(`${root}/fresh`, Buffer.from('x'), { flags: 4 })
    expect(readdirSync(root).toSorted()).toEqual(['fresh', 'log'])
  })

  it('an exclusive write that loses the race fails at its end', async () => {
    const conversation = fixture.guest.request('Write', {
      path: `${root}/race`,
      mode: DEFAULT_MODE,
      user: '',
      flags: 4,
    })
    await conversation.expect('Credit')
    writeFileSync(`${root}/race`, 'winner')
    conversation.send('Eof', {})
    expect(await conversation.expect('Failed')).toMatchObject({ errno: 17 })
    expect(readFileSync(`${root}/race`, 'utf8')).toBe('winner')
    expect(readdirSync(root)).toEqual(['race'])
  })

  it('shows nothing of a file before its end, and leaves nothing of one that was given up', async () => {
    const conversation = fixture.guest.request('Write', {
      path: `${root}/half`,
      mode: DEFAULT_MODE,
      user: '',
      flags: 0,
    })
    await conversation.expect('Credit')
    conversation.send('Data', { bytes: Buffer.from('half') })
    await conversation.expect('Credit')
    expect(existsSync(`${root}/half`)).toBe(false)
    conversation.send('Close', {})
    const other = fixture.guest.request('Write', { path: `${root}/other`, mode: DEFAULT_MODE, user: '', flags: 0 })
    await other.expect('Credit')
    await fixture.guest.hello()
    expect(readdirSync(root)).toEqual([])
  })

  it('reports a full disk', async () => {
    const small = join(root, 'small')
    mkdirSync(small)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', small])
    try {
      expect(await write(`${small}/file`, Buffer.alloc(1_000_000))).toMatchObject({
        name: 'Failed',
        body: { errno: 28 },
      })
      expect(readdirSync(small)).toEqual([])
    } finally {
      execFileSync('umount', [small])
    }
  })

  it('lists to a depth, without following symlinks', async () => {
    mkdirSync(`${root}/one/two/three`, { recursive: true })
    writeFileSync(`${root}/one/file`, 'x')
    symlinkSync('/', `${root}/one/out`)
    const list = async (depth: number) => {
      const messages = await fixture.guest.request('List', { path: root, depth }).all()
      return messages
        .flatMap((message) => (message.name === 'Entry' ? [message.body.path.slice(root.length)] : []))
        .toSorted()
    }
    expect(await list(1)).toEqual(['/one'])
    expect(await list(2)).toEqual(['/one', '/one/file', '/one/out', '/one/two'])
    expect(await list(9)).toEqual(['/one', '/one/file', '/one/out', '/one/two', '/one/two/three'])
    expect(await fixture.guest.request('List', { path: `${root}/none`, depth: 1 }).expect('Failed')).toMatchObject({
      errno: 2,
    })
  })

  it('lists thousands within the credit that it has', async () => {
    mkdirSync(`${root}/many`)
    for (let i = 0; i < 5000; i++) writeFileSync(`${root}/many/file-with-a-long-name-${i}`, '')
    const conversation = fixture.guest.request('List', { path: `${root}/many`, depth: 1 })
    let credit = 262_144
    let count = 0
    for (;;) {
      const message = await conversation.next()
      if (message.name === 'Done') break
      if (message.name !== 'Entry') throw new Error(message.name)
      count++
      credit -= 45 + message.body.path.length + message.body.target.length
      expect(credit).toBeGreaterThanOrEqual(0)
      if (credit < 1000) {
        conversation.send('Credit', { bytes: 100_000 })
        credit += 100_000
      }
    }
    expect(count).toBe(5000)
  })

  it('makes, renames, links, changes and removes', async () => {
    const { guest } = fixture
    await guest.request('MakeDirectory', { path: `${root}/d`, mode: 0o700, user: '', flags: 0 }).expect('Done')
    expect(
      await guest.request('MakeDirectory', { path: `${root}/d`, mode: 0o700, user: '', flags: 0 }).expect('Failed'),
    ).toMatchObject({ errno: 17 })
    await guest
      .request('MakeDirectory', { path: `${root}/d/e/f`, mode: DEFAULT_MODE, user: 'daemon', flags: 1 })
      .expect('Done')
    await guest
      .request('MakeDirectory', { path: `${root}/d/e/f`, mode: DEFAULT_MODE, user: '', flags: 1 })
      .expect('Done')
    await guest.request('Rename', { path: `${root}/d/e`, to: `${root}/moved` }).expect('Done')
    await guest.request('Symlink', { path: `${root}/s`, target: 'moved/f' }).expect('Done')
    await guest.request('ChangeMode', { path: `${root}/s`, mode: 0o711 }).expect('Done')
    expect(statSync(`${root}/moved/f`).mode & 0o7777).toBe(0o711)
    expect(await guest.request('Remove', { path: `${root}/moved`, flags: 0 }).expect('Failed')).toMatchObject({
      errno: 39,
    })
    await guest.request('Remove', { path: `${root}/s`, flags: 0 }).expect('Done')
    await guest.request('Remove', { path: `${root}/moved`, flags: 1 }).expect('Done')
    expect(await guest.request('Remove', { path: `${root}/moved`, flags: 1 }).expect('Failed')).toMatchObject({
      errno: 2,
    })
    await guest.request('Remove', { path: `${root}/moved`, flags: 3 }).expect('Done')
    expect(readdirSync(root)).toEqual(['d'])
  })

  it('removes a deep tree, and not what its symlinks point at', async () => {
    mkdirSync(`${root}/precious`)
    writeFileSync(`${root}/precious/file`, 'x')
    const deep = `${root}/tree/${Array.from({ length: 200 }, () => 'd').join('/')}`
    mkdirSync(deep, { recursive: true })
    symlinkSync(`${root}/precious`, `${deep}/out`)
    for (let i = 0; i < 50; i++) {
      mkdirSync(`${root}/tree/wide-${i}`)
      writeFileSync(`${root}/tree/wide-${i}/file`, '')
    }
    await fixture.guest.request('Remove', { path: `${root}/tree`, flags: 1 }).expect('Done')
    expect(readdirSync(root)).toEqual(['precious'])
    expect(readdirSync(`${root}/precious`)).toEqual(['file'])
  })

  it('refuses paths that are none', async () => {
    const stat = (path: string) => fixture.guest.request('Stat', { path, flags: 0 }).expect('Failed')
    expect(await stat('')).toMatchObject({ errno: 2 })
    expect(await stat('/a\0b')).toMatchObject({ errno: 22 })
    expect(await stat(`/${'x'.repeat(5000)}`)).toMatchObject({ errno: 36 })
  })
})
