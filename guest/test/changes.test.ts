import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import type { ChangeRecord } from '../../packages/engine/src/diff/change-record.ts'
import {
  commitOperation,
  placeOperation,
  removeOperation,
  type ExpectedState,
} from '../../packages/engine/src/diff/operation-stream.ts'
import { useGuest } from './guest-fixture.ts'

const fixture = useGuest()
const root = process.getuid?.() === 0
const ESTALE = 116
const EBADMSG = 74
const SECOND = 1_000_000_000n
let tree = ''
beforeEach(() => (tree = mkdtempSync(join(fixture.directory, 'changes-'))))

function record(path: string, type: ChangeRecord['type'], rest: Partial<ChangeRecord> = {}): ChangeRecord {
  return {
    change: 'added',
    type,
    before: null,
    mode: type === 'directory' ? 0o755 : 0o644,
    uid: process.getuid?.() ?? 0,
    gid: process.getgid?.() ?? 0,
    size: 0,
    modifiedNanoseconds: 1_500_000_000n * SECOND + 123_000_000n,
    changedNanoseconds: 0n,
    inode: 0n,
    path,
    target: '',
    ...rest,
  }
}

/** What is at a path now. */
function present(path: string): NonNullable<ExpectedState> {
  const status = lstatSync(join(tree, path), { bigint: true })
  const type = status.isDirectory() ? 'directory' : status.isSymbolicLink() ? 'symlink' : 'file'
  return { type, size: Number(status.size), modifiedNanoseconds: status.mtimeNs }
}

function file(path: string, content: string, expected: ExpectedState, rest: Partial<ChangeRecord> = {}): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([placeOperation(record(path, 'file', { size: bytes.length, ...rest }), expected), bytes])
}

async function apply(operations: readonly Buffer[], options: { commit?: boolean; eof?: boolean } = {}) {
  const stream = Buffer.concat([...operations, ...(options.commit === false ? [] : [commitOperation()])])
  const conversation = fixture.guest.request('ApplyChanges', { path: tree })
  let at = 0
  for (;;) {
    const message = await conversation.next()
    if (message.name !== 'Credit') return message
    if (at === stream.length) continue
    conversation.send('Data', { bytes: stream.subarray(at, at + 60_000) })
    at = Math.min(stream.length, at + 60_000)
    if (at === stream.length && options.eof !== false) conversation.send('Eof', {})
    if (at === stream.length && options.eof === false) return conversation
  }
}

/** Everything that is there: nothing of the merge may stay behind. */
function listing(): string[] {
  return readdirSync(tree, { recursive: true, encoding: 'utf8' }).toSorted()
}

describe('changes that are brought into a tree', () => {
  it('places files, directories, links and fifos with all that belongs to them', async () => {
    mkdirSync(join(tree, 'old'))
    writeFileSync(join(tree, 'edited'), 'before')
    writeFileSync(join(tree, 'gone'), 'x')
    symlinkSync('a', join(tree, 'link'))
    const answer = await apply([
      placeOperation(record('dir', 'directory', { mode: 0o2750 }), null),
      file('dir/file', 'hello', null, { mode: 0o4755 }),
      placeOperation(record('dir/pipe', 'fifo'), null),
      file('edited', 'y'.repeat(300_000), present('edited')),
      removeOperation(record('gone', 'file'), present('gone')),
      placeOperation(record('link', 'symlink', { target: 'other\nplace' }), present('link')),
      placeOperation(record('old', 'directory', { mode: 0o700 }), present('old')),
    ])
    expect(answer).toMatchObject({ name: 'Done', body: { value: 7n } })
    expect(listing()).toEqual(['dir', 'dir/file', 'dir/pipe', 'edited', 'link', 'old'])
    expect(readFileSync(join(tree, 'dir/file'), 'utf8')).toBe('hello')
    expect(lstatSync(join(tree, 'dir/file')).mode & 0o7777).toBe(0o4755)
    expect(lstatSync(join(tree, 'dir/file'), { bigint: true }).mtimeNs).toBe(1_500_000_000n * SECOND + 123_000_000n)
    expect(lstatSync(join(tree, 'dir'), { bigint: true }).mtimeNs).toBe(1_500_000_000n * SECOND + 123_000_000n)
    expect(lstatSync(join(tree, 'dir')).mode & 0o7777).toBe(0o2750)
    expect(lstatSync(join(tree, 'old')).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(tree, 'edited'), 'utf8')).toHaveLength(300_000)
    expect(readlinkSync(join(tree, 'link'))).toBe('other\nplace')
  })

  it('makes a file of a directory and a directory of a file', async () => {
    mkdirSync(join(tree, 'dir/deep'), { recursive: true })
    writeFileSync(join(tree, 'dir/deep/file'), 'x')
    writeFileSync(join(tree, 'file'), 'x')
    symlinkSync('/etc', join(tree, 'link'))
    const answer = await apply([
      file('dir', 'now a file', present('dir')),
      placeOperation(record('file', 'directory'), present('file')),
      file('file/inside', 'i', null),
      placeOperation(record('link', 'directory'), present('link')),
      file('link/inside', 'i', null),
    ])
    expect(answer).toMatchObject({ name: 'Done' })
    expect(listing()).toEqual(['dir', 'file', 'file/inside', 'link', 'link/inside'])
  })

  it('does nothing when something is not as expected', async () => {
    writeFileSync(join(tree, 'one'), '1')
    writeFileSync(join(tree, 'two'), '2')
    const expected = present('two')
    utimesSync(join(tree, 'two'), 7, 7)
    const cases = [file('two', 'x', expected), file('two', 'x', null), file('absent', 'x', expected)]
    for (const operation of cases) {
      const answer = await apply([file('one', 'changed', present('one')), file('new', 'n', null), operation])
      expect(answer).toMatchObject({ name: 'Failed', body: { errno: ESTALE } })
      expect(listing()).toEqual(['one', 'two'])
      expect(readFileSync(join(tree, 'one'), 'utf8')).toBe('1')
    }
  })

  it('undoes what it did when a later step fails', async () => {
    mkdirSync(join(tree, 'dir'), { mode: 0o711 })
    chmodSync(join(tree, 'dir'), 0o711)
    writeFileSync(join(tree, 'dir/file'), 'kept')
    writeFileSync(join(tree, 'gone'), 'kept too')
    const elsewhere = mkdtempSync(join(fixture.directory, 'elsewhere-'))
    symlinkSync(elsewhere, join(tree, 'outside'))
    const answer = await apply([
      placeOperation(record('dir', 'directory', { mode: 0o700 }), present('dir')),
      file('dir/file', 'other', present('dir/file')),
      placeOperation(record('made', 'directory'), null),
      file('made/file', 'x', null),
      removeOperation(record('gone', 'file'), present('gone')),
      // A link on the way: nothing is ever written through it.
      file('outside/escaped', 'x', null),
    ])
    expect(answer).toMatchObject({ name: 'Failed' })
    expect(readdirSync(elsewhere)).toEqual([])
    expect(listing()).toEqual(['dir', 'dir/file', 'gone', 'outside'])
    expect(readFileSync(join(tree, 'dir/file'), 'utf8')).toBe('kept')
    expect(lstatSync(join(tree, 'dir')).mode & 0o777).toBe(0o711)
    expect(readFileSync(join(tree, 'gone'), 'utf8')).toBe('kept too')
  })

  it('does nothing without a commit, with a broken stream, or when the host goes away', async () => {
    writeFileSync(join(tree, 'one'), '1')
    const change = file('one', 'changed', present('one'))
    expect(await apply([change], { commit: false })).toMatchObject({ name: 'Failed', body: { errno: EBADMSG } })
    const broken = [Buffer.alloc(60, 0xff), change.subarray(0, 62), placeOperation(record('../x', 'file'), null)]
    for (const bytes of broken)
      expect(await apply([change, bytes], { commit: false })).toMatchObject({ name: 'Failed' })
    const open = await apply([change], { commit: false, eof: false })
    if ('send' in open) open.send('Close', {})
    await expect.poll(listing).toEqual(['one'])
    expect(readFileSync(join(tree, 'one'), 'utf8')).toBe('1')
  })

  it.runIf(root)('removes directories that an overlay cannot move, and works across file systems', async () => {
    const parts = Object.fromEntries(['lower', 'upper', 'work'].map((name) => [name, join(tree, name)]))
    for (const path of Object.values(parts)) mkdirSync(path)
    mkdirSync(join(tree, 'lower/dir/sub'), { recursive: true })
    mkdirSync(join(tree, 'lower/other'))
    mkdirSync(join(tree, 'lower/tmp'))
    writeFileSync(join(tree, 'lower/dir/sub/file'), 'x')
    writeFileSync(join(tree, 'lower/file'), 'lower')
    const mounted = mkdtempSync(join(fixture.directory, 'mounted-'))
    const options = `lowerdir=${parts['lower']},upperdir=${parts['upper']},workdir=${parts['work']}`
    execFileSync('mount', ['-t', 'overlay', 'overlay', '-o', options, mounted])
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', join(mounted, 'tmp')])
    try {
      tree = mounted
      const answer = await apply([
        removeOperation(record('dir', 'directory'), present('dir')),
        file('file', 'changed', present('file')),
        file('other', 'no directory any more', present('other')),
        file('tmp/file', 'on another file system', null),
      ])
      expect(answer).toMatchObject({ name: 'Done' })
      expect(listing()).toEqual(['file', 'other', 'tmp', 'tmp/file'])
      expect(readFileSync(join(mounted, 'file'), 'utf8')).toBe('changed')
    } finally {
      execFileSync('umount', [join(mounted, 'tmp')])
      execFileSync('umount', [mounted])
    }
  })

  it('has no changes to list where it does not have the disk', async () => {
    const list = { flags: 0, changes: 1n, entries: 1n, compareFileBytes: 0n, compareBytes: 0n, contentFileBytes: 0n }
    const conversation = fixture.guest.request('ListChanges', { ...list, contentBytes: 0n, paths: new Uint8Array() })
    expect(await conversation.next()).toMatchObject({ name: 'Failed', body: { errno: 95 } })
  })
})
