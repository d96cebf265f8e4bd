import { execFileSync } from 'node:child_process'
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
let root = ''
beforeEach(() => (root = mkdtempSync(join(fixture.directory, 'archives-'))))

async function create(path: string): Promise<Buffer> {
  const messages = await fixture.guest.request('CreateTar', { path }).all()
  expect(messages.at(-1)).toMatchObject({ name: 'Done' })
  return Buffer.concat(messages.map((message) => (message.name === 'Data' ? message.body.bytes : new Uint8Array())))
}

async function extract(path: string, archive: Uint8Array, user = '') {
  const conversation = fixture.guest.request('ExtractTar', { path, user })
  let at = 0
  for (;;) {
    const message = await conversation.next()
    if (message.name !== 'Credit') return message
    if (at < 0) continue
    let credit = message.body.bytes
    while (credit > 0 && at < archive.length) {
      const length = Math.min(credit, 60_000, archive.length - at)
      conversation.send('Data', { bytes: archive.subarray(at, at + length) })
      at += length
      credit -= length
    }
    if (at === archive.length) {
      conversation.send('Eof', {})
      at = -1
    }
  }
}

function tar(directory: string, ...options: readonly string[]): Buffer {
  return execFileSync('tar', ['-C', directory, ...options, '-cf', '-', '.'], { maxBuffer: 100_000_000 })
}

/** One header and its content, for entries that no honest tar writes. */
function entry(name: string, type: string, content = Buffer.alloc(0), link = ''): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0, 100)
  header.write('0000644\0', 100)
  header.write('0000000\0', 108)
  header.write('0000000\0', 116)
  header.write(`${content.length.toString(8).padStart(11, '0')}\0`, 124)
  header.write('00000000000\0', 136)
  header.write('        ', 148)
  header.write(type, 156)
  header.write(link, 157, 100)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)])
}

function fill(directory: string): void {
  mkdirSync(`${directory}/a/b`, { recursive: true })
  writeFileSync(`${directory}/a/script`, '#!/bin/sh\n', { mode: 0o755 })
  writeFileSync(`${directory}/a/large`, Buffer.alloc(3_000_000, 'x'))
  writeFileSync(`${directory}/a/${'long-name-'.repeat(20)}`, 'long')
  writeFileSync(`${directory}/a/ünï\u{1F525}`, 'unicode')
  writeFileSync(`${directory}/a/b/first`, 'linked')
  linkSync(`${directory}/a/b/first`, `${directory}/a/b/second`)
  symlinkSync(`../${'far/'.repeat(40)}away`, `${directory}/a/symlink`)
  utimesSync(`${directory}/a/script`, 1_000_000_000, 1_000_000_000)
  utimesSync(`${directory}/a/b`, 1_100_000_000, 1_100_000_000)
}

function check(directory: string): void {
  expect(statSync(`${directory}/a/script`).mode & 0o7777).toBe(0o755)
  expect(statSync(`${directory}/a/script`).mtimeMs).toBe(1_000_000_000_000)
  expect(statSync(`${directory}/a/b`).mtimeMs).toBe(1_100_000_000_000)
  expect(readFileSync(`${directory}/a/large`).equals(Buffer.alloc(3_000_000, 'x'))).toBe(true)
  expect(readFileSync(`${directory}/a/${'long-name-'.repeat(20)}`, 'utf8')).toBe('long')
  expect(readFileSync(`${directory}/a/ünï\u{1F525}`, 'utf8')).toBe('unicode')
  expect(statSync(`${directory}/a/b/second`).ino).toBe(statSync(`${directory}/a/b/first`).ino)
  expect(readlinkSync(`${directory}/a/symlink`)).toBe(`../${'far/'.repeat(40)}away`)
}

describe('archives', () => {
  it('creates what tar reads', async () => {
    mkdirSync(`${root}/in`)
    mkdirSync(`${root}/out`)
    fill(`${root}/in`)
    execFileSync('tar', ['-C', `${root}/out`, '-xf', '-'], { input: await create(`${root}/in`) })
    check(`${root}/out`)
  })

  it.each([['gnu'], ['pax'], ['ustar']])('extracts what tar writes in %s format', async (format) => {
    mkdirSync(`${root}/in`)
    fill(`${root}/in`)
    if (format === 'ustar') execFileSync('rm', [`${root}/in/a/symlink`, `${root}/in/a/${'long-name-'.repeat(20)}`])
    expect(await extract(`${root}/out`, tar(`${root}/in`, `--format=${format}`), 'daemon')).toMatchObject({
      name: 'Done',
    })
    if (format !== 'ustar') check(`${root}/out`)
    expect(statSync(`${root}/out/a/b/first`)).toMatchObject({ uid: 1, gid: 1 })
  })

  it('archives one file by its name', async () => {
    writeFileSync(`${root}/single`, 'content')
    const listing = execFileSync('tar', ['-tf', '-'], { input: await create(`${root}/single`) }).toString()
    expect(listing).toBe('single\n')
  })

  it('writes sizes beyond 8 GiB', async () => {
    writeFileSync(`${root}/huge`, '')
    truncateSync(`${root}/huge`, 9 * 1024 ** 3)
    const conversation = fixture.guest.request('CreateTar', { path: `${root}/huge` })
    conversation.generous = false
    const { bytes } = await conversation.expect('Data')
    const text = Buffer.from(bytes).toString('latin1')
    expect(text).toContain(`size=${9 * 1024 ** 3}\n`)
    conversation.send('Close', {})
  })

  it.each([
    ['an absolute path', [entry('/tmp/hearth-escape', '0', Buffer.from('x'))], 18],
    ['a path with ..', [entry('a/../../hearth-escape', '0', Buffer.from('x'))], 18],
    [
      'a path through a symlink',
      [entry('link', '2', undefined, '/tmp'), entry('link/hearth-escape', '0', Buffer.from('x'))],
      40,
    ],
    ['a hard link to the outside', [entry('passwd', '1', undefined, '/etc/passwd')], 18],
    [
      'a hard link through a symlink',
      [entry('link', '2', undefined, '/etc'), entry('passwd', '1', undefined, 'link/passwd')],
      40,
    ],
    ['a character device', [entry('null', '3')], 1],
    ['a block device', [entry('disk', '4')], 1],
    ['an unknown type', [entry('strange', 'Z')], 95],
    ['a header with a wrong sum', [Buffer.alloc(512, 'x')], 74],
    ['an archive that is cut', [entry('cut', '0', Buffer.alloc(2000)).subarray(0, 1000)], 74],
  ])('refuses %s', async (_what, entries, errno) => {
    expect(await extract(`${root}/out`, Buffer.concat(entries))).toMatchObject({ name: 'Failed', body: { errno } })
    expect(existsSync('/tmp/hearth-escape')).toBe(false)
  })

  it('writes no content through a symlink that an earlier entry left', async () => {
    writeFileSync(`${root}/victim`, 'untouched')
    const archive = Buffer.concat([
      entry('x', '2', undefined, `${root}/victim`),
      entry('x', '0', Buffer.from('new')),
      Buffer.alloc(1024),
    ])
    expect(await extract(`${root}/out`, archive)).toMatchObject({ name: 'Done', body: { value: 3n } })
    expect(readFileSync(`${root}/victim`, 'utf8')).toBe('untouched')
    expect(lstatSync(`${root}/out/x`).isFile()).toBe(true)
  })

  it('restores the modes of all directories, however many there are', { timeout: 60_000 }, async () => {
    const count = 65_600
    const names = Array.from({ length: count }, (_, index) => `many/${index}/`)
    const archive = Buffer.concat([entry('many/', '5'), ...names.map((name) => entry(name, '5')), Buffer.alloc(1024)])
    expect(await extract(`${root}/out`, archive)).toMatchObject({ name: 'Done' })
    for (const index of [0, count - 1]) expect(statSync(`${root}/out/many/${index}`).mode & 0o7777).toBe(0o644)
  })

  it('stops the worker when the channel is closed', async () => {
    const conversation = fixture.guest.request('ExtractTar', { path: `${root}/out`, user: '' })
    await conversation.expect('Credit')
    conversation.send('Close', {})
    expect((await fixture.guest.exec(['true'])).exited?.code).toBe(0)
  })

  it('fails for a directory that is not there', async () => {
    expect((await fixture.guest.request('CreateTar', { path: `${root}/none` }).all()).at(-1)).toMatchObject({
      name: 'Failed',
      body: { errno: 2 },
    })
  })
})
